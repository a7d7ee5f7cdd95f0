// Regressions on the rows of tables and of design files.
#include <fmt/format.h>
#include <unistd.h>

#include "magva/distribute.hpp"
#include "magva/error.hpp"
#include "magva/version.hpp"
#include "source/regression_source.hpp"
#include "table/design_parts.hpp"
#include "table/message.hpp"
#include "table/part_files.hpp"
#include "table/response.hpp"

namespace magva::source {

namespace {

std::string default_response(const table::Table& table) {
  if (table.features) return "label";
  throw UsageError(
      fmt::format("no response is named: choose the column that is to be explained with --response, for "
                  "example --response {}",
                  table.columns.back().name));
}

const table::Column& response_column(const table::Table& table, const std::string& name) {
  const table::Column* column = table.find(name);
  if (column == nullptr)
    throw DataError(fmt::format("{} has no column '{}', named as the response (--response){}", table.source,
                                name, table::suggestion(name, table.names())));
  return *column;
}

RegressionKind chosen_model(const RegressionOptions& options, const table::Column& response,
                            std::vector<std::string>& notes) {
  if (options.model) return *options.model;
  table::ResponseSummary seen;
  seen.add(response);
  table::ResponseChoice choice = table::choose_response_kind(response, seen);
  notes.push_back(std::move(choice.reason));
  return regression_for(choice.kind);
}

void fix_knots(SplineSpec& spline, const table::EncodedRows& rows) {
  if (rows.x.cols() < 2)
    throw DataError(
        fmt::format("the covariate '{}' is constant: there is no curve to fit", spline.covariate));
  spline.lower = rows.x.col(1).minCoeff();
  spline.upper = rows.x.col(1).maxCoeff();
}

void save_design(const std::string& path, const DataRecord& data, const table::LearntDesign& learnt,
                 const std::vector<std::string>& notes, design_file::Element element) {
  if (learnt.spec.sparse())
    throw UsageError("a design file holds a dense design: a LIBSVM file is read as fast as it is");
  design_file::Header header;
  header.made_by = fmt::format("magva {}", version());
  header.rows = learnt.design.size();
  header.element = element;
  header.weighted = learnt.design.weights.size() > 0;
  header.spec = learnt.spec;
  header.notes = notes;
  header.source = {data.file, data.rows, data.columns, data.sha256};
  design_file::Writer writer(path, std::move(header));
  writer.append(learnt.design);
  writer.commit();
}

std::shared_ptr<const ModelRows> kept_rows(const RegressionData& data) {
  if (data.design.rows() > kMostRowsChecked) return nullptr;
  return std::make_shared<const ModelRows>(
      ModelRows{data.design, data.response, {}, {}, {}, {}, {}, data.weights});
}

Regression regression_on(ModelSpec& spec, table::EncodedRows rows, const RegressionOptions& options,
                         std::shared_ptr<const ModelRows>& kept) {
  if (spec.spline) return build_pspline(spec, rows);
  Vector response = std::move(rows.y);
  Vector weights = std::move(rows.weights);
  Design design = options.single_precision && !spec.design.sparse() ? single_precision_design(spec, rows)
                                                                    : engine_design(spec, std::move(rows));
  RegressionData data{std::move(design), std::move(response), std::move(weights), spec.design.names()};
  if (!options.prior_variance) set_default_priors(spec, data);
  kept = kept_rows(data);
  return build_regression(spec, std::move(data));
}

}  // namespace

DataRecord record_of(const table::Table& table) {
  return {table.source, table.rows,
          static_cast<Index>(table.columns.size()) + (table.features ? table.features->cols() : 0),
          table.sha256};
}

ModelSource make_table_source(const table::Table& table, table::DesignOptions design,
                              const RegressionOptions& options) {
  if (design.response.empty()) design.response = default_response(table);
  std::vector<std::string> notes;
  ModelSpec spec =
      model_spec_for(options, chosen_model(options, response_column(table, design.response), notes));
  design.kind = response_kind(spec.model);
  if (spec.spline) design.columns = {spec.spline->covariate};
  table::LearntDesign learnt = table::learn_design(table, design);
  spec.design = learnt.spec;
  notes.insert(notes.end(), learnt.design.notes.begin(), learnt.design.notes.end());
  if (spec.spline) fix_knots(*spec.spline, learnt.design);
  const DataRecord data = record_of(table);
  if (options.save_design)
    save_design(*options.save_design, data, learnt, notes,
                options.single_precision ? design_file::Element::float32 : design_file::Element::float64);
  std::shared_ptr<const ModelRows> rows;
  Regression regression = regression_on(spec, std::move(learnt.design), options, rows);
  ModelSource source = make_regression_source(std::move(spec), std::move(regression), options);
  source.rows = std::move(rows);
  source.data = data;
  source.notes = std::move(notes);
  return source;
}

namespace {

/// The specification of a regression on design files. Throws UsageError if the response is encoded for
/// another.
ModelSpec spec_of_file(const std::string& path, const design_file::Header& header,
                       const RegressionOptions& options) {
  const RegressionKind stored = regression_for(header.spec.response.kind);
  if (options.model && *options.model != stored)
    throw UsageError(
        fmt::format("the response of the design file '{}' is encoded for {} regression: for another, convert "
                    "the table again",
                    path, to_string(stored)));
  ModelSpec spec = model_spec_for(options, stored);
  spec.design = header.spec;
  return spec;
}

ModelSource source_of_file(const std::string& path, design_file::Header header, ModelSpec spec,
                           RegressionData rows, const RegressionOptions& options) {
  // A rank that holds a share of the rows has nothing to check all of them by.
  std::shared_ptr<const ModelRows> kept = options.share.size == 1 ? kept_rows(rows) : nullptr;
  Regression regression = build_regression(spec, std::move(rows));
  ModelSource source = make_regression_source(std::move(spec), std::move(regression), options);
  source.rows = std::move(kept);
  source.data = {path, header.rows, header.columns(), header.sha256};
  source.notes = std::move(header.notes);
  return source;
}

ModelSource make_design_parts_source(const std::string& pattern, const RegressionOptions& options) {
  const design_file::DesignParts parts(pattern);
  const design_file::Header& header = parts.header();
  ModelSpec spec = spec_of_file(pattern, header, options);
  design_file::JoinedRows joined(header, rows_of_rank(header.rows, options.share.rank, options.share.size));
  MomentSums moments;
  parts.for_each([&](const design_file::DesignFile& part) {
    joined.append(part);
    if (!options.prior_variance) moments.add(part.design);
  });
  if (!options.prior_variance) set_default_priors(spec, moments.finish(), joined.response);
  RegressionData rows{joined.design(), std::move(joined.response), std::move(joined.weights),
                      spec.design.names()};
  return source_of_file(pattern, header, std::move(spec), std::move(rows), options);
}

}  // namespace

namespace {

/// Small whole numbers are kept in memory, an eighth or a quarter of the file: unless minibatches read it
/// here and there, or a copy would be in the way of other things.
bool is_worth_a_copy(const Design& design, const RegressionOptions& options) {
  const auto memory =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return !options.batch && options.share.size == 1 && static_cast<double>(design.entries()) < memory / 4;
}

}  // namespace

ModelSource make_design_file_source(const std::string& path, const RegressionOptions& options) {
  if (table::is_pattern(path)) return make_design_parts_source(path, options);
  design_file::DesignFile file = design_file::open(path);
  ModelSpec spec = spec_of_file(path, file.header, options);
  if (options.batch)
    file.file->expect_scattered_reads();
  else
    file.file->expect_sequential_reads();
  if (is_worth_a_copy(file.design, options)) file.design = file.design.compact();
  RegressionData rows{std::move(file.design), std::move(file.response), std::move(file.weights),
                      spec.design.names()};
  if (!options.prior_variance) set_default_priors(spec, rows);
  return source_of_file(path, std::move(file.header), std::move(spec), std::move(rows), options);
}

}  // namespace magva::source
