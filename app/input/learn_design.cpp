#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "input/complete_rows.hpp"
#include "input/design.hpp"
#include "input/duplicate_columns.hpp"
#include "input/learn_features.hpp"
#include "input/learn_terms.hpp"
#include "input/message.hpp"
#include "input/nearest_name.hpp"
#include "input/response.hpp"
#include "magva/error.hpp"

namespace magva::input {

namespace {

class DesignLearner {
 public:
  DesignLearner(const Table& table, const DesignOptions& options)
      : table_(table),
        options_(options),
        names_(table.names()),
        excluded_(options.excluded.begin(), options.excluded.end()) {
    if (options.response.empty() && !table.features)
      throw UsageError("no response is named; choose a column (--response)");
    response_ = &find(options.response.empty() ? "label" : options.response, "the response");
    if (!options.weights.empty()) weights_ = &find(options.weights, "the weights");
    if (!table.features) {
      for (const std::string& name : options.excluded) find(name, "an excluded column");
      for (const std::string& name : options.columns) refuse_response_as_predictor(find(name, "a predictor"));
    }
  }

  LearntDesign learn() {
    spec_.weights = options_.weights;
    const std::vector<const Column*> predictors = choose_predictors();
    std::vector<const Column*> used = predictors;
    used.push_back(response_);
    if (weights_ != nullptr) used.push_back(weights_);
    const std::vector<Index> rows = complete_rows(table_, used, options_.missing, notes_);
    spec_.response = learn_response(table_, *response_, rows, options_.kind, options_.positive_class, notes_);
    learn_terms(predictors, rows);
    if (table_.features) learn_sparse();
    refuse_equal_names();
    Design design = apply(spec_, table_, options_.missing);
    if (drop_duplicates(design)) design = apply(spec_, table_, options_.missing);
    note_dropped();
    design.notes = std::move(notes_);
    return {std::move(spec_), std::move(design)};
  }

 private:
  const Column& find(const std::string& name, const char* role) const {
    const Column* column = table_.find(name);
    if (column == nullptr)
      throw DataError(fmt::format("{} has no column '{}', named as {}{}", table_.source, name, role,
                                  suggestion(name, names_)));
    return *column;
  }

  void refuse_response_as_predictor(const Column& column) const {
    if (&column == response_)
      throw UsageError(fmt::format("'{}' is the response and cannot be a predictor too", column.name));
  }

  bool wanted(const std::string& name) const {
    const bool listed =
        options_.columns.empty() ||
        std::find(options_.columns.begin(), options_.columns.end(), name) != options_.columns.end();
    return listed && !excluded_.contains(name);
  }

  std::vector<const Column*> choose_predictors() const {
    std::vector<const Column*> predictors;
    for (const Column& column : table_.columns)
      if (&column != response_ && &column != weights_ && wanted(column.name)) predictors.push_back(&column);
    return predictors;
  }

  void learn_terms(const std::vector<const Column*>& predictors, const std::vector<Index>& rows) {
    std::vector<int> classes;
    if (options_.discretise == Discretise::mdlp) {
      const Vector y = response_values(spec_.response, table_, *response_, rows);
      for (const double value : y) classes.push_back(static_cast<int>(value));
    }
    const TermLearner learner{table_, rows, options_, classes};
    for (const Column* column : predictors) learner.learn(*column, spec_, notes_);
  }

  void learn_sparse() {
    if (options_.discretise == Discretise::mdlp)
      throw UsageError("the features of a LIBSVM file cannot be discretised; use a CSV file");
    FeatureSelection selection =
        select_features(*table_.features, [&](const std::string& name) { return wanted(name); });
    spec_.features = std::move(selection.term);
    spec_.dropped = std::move(selection.dropped);
    if (selection.absent > 0)
      notes_.push_back(fmt::format("{} of {} features are 0 in every row and were left out", selection.absent,
                                   table_.features->cols()));
    if (!options_.standardise) return;
    scale_features(*spec_.features, *table_.features);
    notes_.emplace_back(
        "features were divided by their standard deviations but not centred, which would fill their zeros");
  }

  void refuse_equal_names() const {
    std::set<std::string> seen;
    for (const std::string& name : spec_.names())
      if (!seen.insert(name).second)
        throw DataError(
            fmt::format("{}: two coefficients would be named '{}'; rename a column", table_.source, name));
  }

  bool drop_duplicates(const Design& design) {
    const auto duplicates = spec_.sparse() ? duplicate_columns(design.sparse_x) : duplicate_columns(design.x);
    std::set<std::string> names;
    for (const Duplicate& duplicate : duplicates) {
      const std::string& name = design.names[static_cast<std::size_t>(duplicate.column)];
      const std::string& kept = design.names[static_cast<std::size_t>(duplicate.same_as)];
      names.insert(name);
      spec_.dropped.push_back({name, fmt::format("equals {}", excerpt(kept))});
    }
    if (!names.empty()) remove(names);
    return !names.empty();
  }

  /// Takes columns of the design, by name, out of the specification.
  void remove(const std::set<std::string>& names) {
    for (Term& term : spec_.terms) {
      const std::vector<std::string> own = term.names();
      const auto keep_others = [&](std::vector<Index>& coded) {
        std::vector<Index> kept;
        for (std::size_t k = 0; k < coded.size(); ++k)
          if (!names.contains(own[k])) kept.push_back(coded[k]);
        coded = std::move(kept);
      };
      if (auto* bins = std::get_if<BinsTerm>(&term.coding)) keep_others(bins->coded);
      if (auto* levels = std::get_if<LevelsTerm>(&term.coding)) keep_others(levels->coded);
    }
    std::erase_if(spec_.terms, [&](const Term& term) {
      const bool number = std::holds_alternative<NumberTerm>(term.coding);
      return number ? names.contains(term.column) : term.names().empty();
    });
    if (spec_.features) remove_features(*spec_.features, names);
  }

  static void remove_features(FeaturesTerm& term, const std::set<std::string>& names) {
    FeaturesTerm kept;
    kept.count = term.count;
    for (std::size_t i = 0; i < term.kept.size(); ++i) {
      if (names.contains(feature_name(term.kept[i]))) continue;
      kept.kept.push_back(term.kept[i]);
      kept.scales.push_back(term.scales[i]);
    }
    term = std::move(kept);
  }

  void note_dropped() {
    std::map<std::string, std::vector<std::string>> names_by_reason;
    for (const DroppedColumn& column : spec_.dropped) names_by_reason[column.reason].push_back(column.name);
    for (const auto& [reason, names] : names_by_reason)
      notes_.push_back(fmt::format("dropped {} ({})", name_list(names, 10), reason));
    if (spec_.names().size() == 1)
      notes_.emplace_back("no predictor is left: the model has an intercept alone");
  }

  const Table& table_;
  const DesignOptions& options_;
  std::vector<std::string> names_;
  std::set<std::string> excluded_;
  const Column* response_ = nullptr;
  const Column* weights_ = nullptr;
  DesignSpec spec_;
  std::vector<std::string> notes_;
};

}  // namespace

std::vector<std::string> DesignOptions::problems() const {
  std::vector<std::string> found;
  if (discretise == Discretise::mdlp && kind != ResponseKind::binary)
    found.emplace_back("discretise: MDLP needs a response with two classes");
  if (!positive_class.empty() && kind != ResponseKind::binary)
    found.emplace_back("positive_class: only a response with two classes has one");
  if (!weights.empty() && weights == response)
    found.emplace_back("weights: the response cannot be the weights too");
  if (std::find(excluded.begin(), excluded.end(), response) != excluded.end() && !response.empty())
    found.emplace_back("excluded: the response cannot be excluded");
  if (max_levels < 2) found.emplace_back("max_levels: must be at least 2");
  return found;
}

LearntDesign learn_design(const Table& table, const DesignOptions& options) {
  const auto problems = options.problems();
  if (!problems.empty()) throw UsageError(problems.front());
  return DesignLearner(table, options).learn();
}

}  // namespace magva::input
