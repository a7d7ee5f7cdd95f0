#pragma once
#include "magva/posterior.hpp"
#include "results/fit_folder.hpp"
#include "results/fit_record.hpp"
#include "results/trace.hpp"
#include "source/model_source.hpp"

namespace magva::results {

/// Writes all files of a fit; fit.json last, so that a folder whose record says how the fit ended is whole.
void store_fit(const FitFolder& folder, const FitRecord& record, const Gaussian& posterior,
               const source::ModelSource& source, const Trace& trace);

/// A fit as other commands read it.
struct StoredFit {
  FitFolder folder;
  FitRecord record;
  Gaussian posterior;
  std::vector<std::string> names;  ///< of the coordinates
  nlohmann::json model;            ///< what prediction needs, or null
};

/// IoError or DataError where there is no whole fit.
StoredFit load_fit(const std::filesystem::path& path);

}  // namespace magva::results
