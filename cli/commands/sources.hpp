#pragma once
// From the options of a command to those of the libraries: how tables are read and encoded, and what is
// fitted to them.
#include <functional>
#include <memory>

#include "magva/fit_folder.hpp"
#include "magva/model_source.hpp"
#include "options/values.hpp"
#include "table/shared_table.hpp"

namespace magva::commands {

table::ReadOptions read_options(const options::Values& values);
table::MissingPolicy missing_policy(const options::Values& values);

/// How the table in a file, or in several, is read: whole, or a rank's share of it.
using ReadTable =
    std::function<table::TableShare(const std::string& path, const table::ReadOptions& options)>;

/// Reads the model and data that the options of `magva fit` name; of design files in parts, only a share of
/// the rows has to be in memory. Throws UsageError, DataError or IoError.
source::ModelSource make_source(const options::Values& values);
source::ModelSource make_source(const options::Values& values, const source::RowShare& share,
                                const ReadTable& read);
/// The same as make_source for a table, which is read once the options have been found valid.
source::ModelSource make_source(const options::Values& values,
                                const std::function<table::TableShare()>& read);

/// What `magva convert` does.
source::ConvertOptions convert_options(const options::Values& values);

/// The options of the fit that the record is of.
options::Values recorded_values(const results::FitRecord& record);

/// The reporter of a stored fit: no data are read for a regression.
std::shared_ptr<const source::Reporter> make_reporter(const results::StoredFit& fit);

}  // namespace magva::commands
