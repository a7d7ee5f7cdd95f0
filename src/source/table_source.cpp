// Regressions on the rows of tables and of design files.
#include <fmt/format.h>
#include <unistd.h>

#include "magva/distribute.hpp"
#include "magva/error.hpp"
#include "magva/version.hpp"
#include "source/regression_source.hpp"
#include "source/shared_rows.hpp"
#include "source/shared_sources.hpp"
#include "table/design_parts.hpp"
#include "table/learn_design.hpp"
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
                            const table::TableRanks& ranks, std::vector<std::string>& notes) {
  if (options.model) return *options.model;
  table::ResponseSummary seen;
  ranks.in_turn(seen, [&] { seen.add(response); });
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

/// The leader writes the rows of all ranks.
void save_design(const std::string& path, const DataRecord& data, const table::LearntDesign& learnt,
                 const table::TableRanks& ranks, const std::vector<std::string>& notes,
                 design_file::Element element) {
  if (learnt.spec.sparse())
    throw UsageError("a design file holds a dense design: a LIBSVM file is read as fast as it is");
  design_file::Header header;
  header.made_by = fmt::format("magva {}", version());
  header.rows = ranks.row_starts(learnt.design.size()).back();
  header.element = element;
  header.weighted = !learnt.spec.weights.empty();
  header.spec = learnt.spec;
  header.notes = notes;
  header.source = {data.file, data.rows, data.columns, data.sha256};
  std::optional<design_file::Writer> writer;
  ranks.together([&] {
    if (ranks.leads()) writer.emplace(path, std::move(header));
  });
  for_each_piece(learnt.design, ranks, [&](const table::EncodedRows& piece) {
    if (writer) writer->append(piece);
  });
  ranks.together([&] {
    if (writer) writer->commit();
  });
}

std::shared_ptr<const ModelRows> kept_rows(const RegressionData& data, bool has_all) {
  if (!has_all || data.design.rows() > kMostRowsChecked) return nullptr;
  return std::make_shared<const ModelRows>(
      ModelRows{data.design, data.response, {}, {}, {}, {}, {}, data.weights});
}

SharedDesign shared_design(const ModelSpec& spec, table::EncodedRows own, const RegressionOptions& options,
                           const table::TableRanks& ranks) {
  if (spec.design.sparse()) {
    const Index rows = own.size();
    return {engine_design(spec, std::move(own)), {0, rows}, true};
  }
  if (!options.single_precision) return share_design(std::move(own.x), ranks);
  SingleRowMatrix single;
  ranks.together([&] { single = design_file::single_precision(own.x, spec.design); });
  return share_design(std::move(single), ranks);
}

ModelSource regression_source(ModelSpec spec, table::EncodedRows own, const RegressionOptions& options,
                              const table::TableRanks& ranks) {
  Vector response = ranks.gather(std::move(own.y));
  Vector weights = ranks.gather(std::move(own.weights));
  const SharedDesign shared = shared_design(spec, std::move(own), options, ranks);
  RegressionData data{shared.design, std::move(response), std::move(weights), spec.design.names()};
  if (!options.prior_variance) set_default_priors(spec, design_moments(shared, ranks), data.response);
  std::shared_ptr<const ModelRows> kept = kept_rows(data, shared.has_all);
  Regression regression = build_regression(spec, std::move(data));
  ModelSource source = make_regression_source(std::move(spec), std::move(regression), options);
  source.rows = std::move(kept);
  source.has_all_rows = shared.has_all;
  return source;
}

/// A curve is made of the covariate and the response alone, which every rank has whole.
ModelSource pspline_source(ModelSpec spec, const table::EncodedRows& own, const RegressionOptions& options,
                           const table::TableRanks& ranks) {
  table::EncodedRows all;
  for (Index j = 0; j < own.x.cols(); ++j) {
    const Vector column = ranks.gather(own.x.col(j));
    if (j == 0) all.x.resize(column.size(), own.x.cols());
    all.x.col(j) = column;
  }
  all.y = ranks.gather(own.y);
  all.weights = ranks.gather(own.weights);
  fix_knots(*spec.spline, all);
  Regression regression = build_pspline(spec, all);
  return make_regression_source(std::move(spec), std::move(regression), options);
}

/// What is left of a table once it is encoded.
struct EncodedTable {
  ModelSpec spec;
  table::EncodedRows rows;  ///< this rank's
  DataRecord data;
  std::vector<std::string> notes;
};

EncodedTable encode_table(const table::Table& own, Index rows_of_all, table::DesignOptions design,
                          const RegressionOptions& options, const table::TableRanks& ranks) {
  if (design.response.empty()) design.response = default_response(own);
  EncodedTable out;
  out.spec =
      model_spec_for(options, chosen_model(options, response_column(own, design.response), ranks, out.notes));
  design.kind = response_kind(out.spec.model);
  if (out.spec.spline) design.columns = {out.spec.spline->covariate};
  table::LearntDesign learnt = table::learn_design(own, design, ranks);
  out.spec.design = learnt.spec;
  out.notes.insert(out.notes.end(), learnt.design.notes.begin(), learnt.design.notes.end());
  out.data = record_of(own, rows_of_all);
  if (options.save_design)
    save_design(*options.save_design, out.data, learnt, ranks, out.notes,
                options.single_precision ? design_file::Element::float32 : design_file::Element::float64);
  out.rows = std::move(learnt.design);
  return out;
}

ModelSource source_of(EncodedTable table, const RegressionOptions& options, const table::TableRanks& ranks) {
  ModelSource source = table.spec.spline
                           ? pspline_source(std::move(table.spec), table.rows, options, ranks)
                           : regression_source(std::move(table.spec), std::move(table.rows), options, ranks);
  source.data = std::move(table.data);
  source.notes = std::move(table.notes);
  return source;
}

}  // namespace

DataRecord record_of(const table::Table& table, Index rows_of_all) {
  return {table.source, rows_of_all,
          static_cast<Index>(table.columns.size()) + (table.features ? table.features->cols() : 0),
          table.sha256};
}

ModelSource make_table_source(const table::Table& table, table::DesignOptions design,
                              const RegressionOptions& options) {
  const table::TableRanks alone;
  return source_of(encode_table(table, table.rows, std::move(design), options, alone), options, alone);
}

ModelSource make_shared_table_source(table::TableShare table, table::DesignOptions design,
                                     const RegressionOptions& options) {
  EncodedTable encoded = encode_table(table.rows, table.rows_of_all, std::move(design), options, table.ranks);
  table.rows = {};  // its memory is needed for the rows of the share
  return source_of(std::move(encoded), options, table.ranks);
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
  std::shared_ptr<const ModelRows> kept = kept_rows(rows, options.share.size == 1);
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
  ModelSource source = source_of_file(pattern, header, std::move(spec), std::move(rows), options);
  source.has_all_rows = options.share.size == 1;
  return source;
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
