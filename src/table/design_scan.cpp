#include "table/design_scan.hpp"

#include <fmt/format.h>

#include <set>
#include <stdexcept>

#include "magva/error.hpp"
#include "table/learn_features.hpp"
#include "table/learn_terms.hpp"
#include "table/response.hpp"

namespace magva::input {

void DesignScan::add(const Table& part) {
  part_ = &part;
  used_ = used_columns(part, options_);
  if (parts_++ == 0) summaries_.assign(used_.predictors.size(), ColumnSummary(options_.standardise));
  complete_ = missing_.add(part, used_.all());
  seen_response_.add(*used_.response);
  used_response_.add(*used_.response, complete_);
  for (std::size_t i = 0; i < summaries_.size(); ++i) summaries_[i].add(*used_.predictors[i], complete_);
}

void DesignScan::learn_terms() {
  std::vector<int> classes;
  if (options_.discretise == Discretise::mdlp) {
    if (parts_ > 1) throw std::logic_error("discretisation was given a table in parts");
    const Vector y = response_values(learnt_.spec.response, *part_, *used_.response, complete_);
    for (const double value : y) classes.push_back(static_cast<int>(value));
  }
  const TermLearner learner{part_->source, options_, learnt_.rows, complete_, classes};
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

void DesignScan::refuse_equal_names() const {
  std::set<std::string> seen;
  for (const std::string& name : learnt_.spec.names())
    if (!seen.insert(name).second)
      throw DataError(
          fmt::format("{}: two coefficients would be named '{}'; rename a column", part_->source, name));
}

LearntSpec DesignScan::finish(ResponseKind kind) {
  options_.kind = kind;
  const auto problems = options_.problems();
  if (!problems.empty()) throw UsageError(problems.front());
  missing_.settle(part_->source, options_.missing, learnt_.notes);
  learnt_.rows = missing_.complete();
  learnt_.spec.weights = options_.weights;
  learnt_.spec.response = learn_response(part_->source, *used_.response, used_response_, kind,
                                         options_.positive_class, learnt_.notes);
  learn_terms();
  if (part_->features) learn_features();
  refuse_equal_names();
  return std::move(learnt_);
}

}  // namespace magva::input
