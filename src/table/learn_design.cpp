#include "table/learn_design.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "magva/error.hpp"
#include "magva/table.hpp"
#include "table/duplicate_columns.hpp"
#include "table/learn_terms.hpp"
#include "table/response.hpp"

namespace magva::table {

void DesignScan::add(const Table& part) {
  part_ = &part;
  used_ = used_columns(part, options_);
  ++parts_;
  if (summaries_.empty()) summaries_.assign(used_.predictors.size(), ColumnSummary(options_.standardise));
  complete_ = missing_.add(part, used_.all());
  seen_response_.add(*used_.response);
  used_response_.add(*used_.response, complete_);
  for (std::size_t i = 0; i < summaries_.size(); ++i) summaries_[i].add(*used_.predictors[i], complete_);
}

void DesignScan::learn_terms(const TableRanks& ranks) {
  std::vector<int> classes;
  if (options_.discretise == Discretise::mdlp) {
    if (parts_ > 1) throw std::logic_error("discretisation was given a table in parts");
    Vector own;
    ranks.together([&] { own = response_values(learnt_.spec.response, *part_, *used_.response, complete_); });
    for (const double value : ranks.gather(std::move(own))) classes.push_back(static_cast<int>(value));
  }
  const TermLearner learner{part_->source, options_, learnt_.rows, complete_, classes, ranks};
  for (std::size_t i = 0; i < summaries_.size(); ++i)
    learner.learn(*used_.predictors[i], summaries_[i], learnt_.spec, learnt_.notes);
}

void DesignScan::learn_features() {
  const SparseRowMatrix& features = *part_->features;
  if (options_.discretise == Discretise::mdlp)
    throw UsageError("the features of a LIBSVM file cannot be discretised; use a CSV file");
  FeatureSelection selection =
      select_features(features, [&](const std::string& name) { return wanted(options_, name); });
  learnt_.spec.features = std::move(selection.term);
  learnt_.spec.dropped = std::move(selection.dropped);
  if (selection.absent > 0)
    learnt_.notes.push_back(fmt::format("{} of {} features are 0 in every row and were left out",
                                        selection.absent, features.cols()));
  if (!options_.standardise) return;
  scale_features(*learnt_.spec.features, features);
  learnt_.notes.emplace_back(
      "features were divided by their standard deviations but not centred, which would fill their zeros");
}

void DesignScan::check_names_differ() const {
  std::set<std::string> seen;
  for (const std::string& name : learnt_.spec.names())
    if (!seen.insert(name).second)
      throw DataError(
          fmt::format("{}: two coefficients would be named '{}'; rename a column", part_->source, name));
}

LearntSpec DesignScan::finish(ResponseKind kind, const TableRanks& ranks) {
  options_.kind = kind;
  options_.validate();
  missing_.finalize(part_->source, options_.missing, learnt_.notes);
  learnt_.rows = missing_.complete();
  learnt_.spec.weights = options_.weights;
  learnt_.spec.response = learn_response(part_->source, *used_.response, used_response_, kind,
                                         options_.positive_class, learnt_.notes);
  learn_terms(ranks);
  if (part_->features) learn_features();
  check_names_differ();
  return std::move(learnt_);
}

void DesignOptions::validate() const {
  if (discretise == Discretise::mdlp && kind != ResponseKind::binary)
    throw UsageError("discretise: MDLP needs a response with two classes");
  if (!positive_class.empty() && kind != ResponseKind::binary)
    throw UsageError("positive_class: only a response with two classes has one");
  if (!weights.empty() && weights == response)
    throw UsageError("weights: the response cannot be the weights too");
  if (std::find(excluded.begin(), excluded.end(), response) != excluded.end() && !response.empty())
    throw UsageError("excluded: the response cannot be excluded");
  if (max_levels < 2) throw UsageError("max_levels: must be at least 2");
}

namespace {

/// This rank's rows that are complete in the columns that the design needs.
EncodedRows encode_complete(const DesignSpec& spec, const Table& own, const TableRanks& ranks) {
  EncodedRows rows;
  ranks.together([&] {
    const UsedColumns used = used_columns(own, spec);
    rows = encode_rows(spec, own, MissingCells().add(own, used.all()), used.response, used.weights);
  });
  if (!spec.weights.empty() && ranks.all(rows.size() == 0 || rows.weights.maxCoeff() == 0))
    check_weights_not_all_zero(own.source, spec.weights, 0);
  return rows;
}

}  // namespace

LearntDesign learn_design(const Table& own, const DesignOptions& options, const TableRanks& ranks) {
  options.validate();
  DesignScan scan(options);
  ranks.in_turn(scan, [&] { scan.add(own); });
  LearntSpec learnt = scan.finish(options.kind, ranks);
  EncodedRows design = encode_complete(learnt.spec, own, ranks);
  const auto duplicates =
      learnt.spec.sparse() ? duplicate_columns(design.sparse_x) : duplicate_columns(design.x, ranks);
  if (!duplicates.empty()) {
    drop_duplicates(learnt.spec, duplicates);
    // Only a cell that is missing in a dropped column alone makes another row complete.
    if (ranks.all(count_complete_rows(learnt.spec, own) == design.size()))
      drop_duplicates(design, duplicates);
    else
      design = encode_complete(learnt.spec, own, ranks);
  }
  note_dropped(learnt.spec, learnt.notes);
  design.notes = std::move(learnt.notes);
  return {std::move(learnt.spec), std::move(design)};
}

LearntDesign learn_design(const Table& table, const DesignOptions& options) {
  return learn_design(table, options, TableRanks());
}

}  // namespace magva::table
