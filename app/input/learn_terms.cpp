#include "input/learn_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "input/mdlp.hpp"
#include "input/message.hpp"
#include "magva/error.hpp"

namespace magva::input {

namespace {

const char* const kConstant = "constant";

bool is_constant(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [&](double value) { return value == values.front(); });
}

NumberTerm mean_and_sd(const std::vector<double>& values) {
  const Eigen::Map<const Vector> x(values.data(), static_cast<Index>(values.size()));
  const auto n = static_cast<double>(x.size());
  // Scaled, so that the squares neither overflow nor vanish.
  const double largest = x.cwiseAbs().maxCoeff();
  const Vector scaled = x / largest;
  const double mean = scaled.mean();
  const double sd = std::sqrt((scaled.array() - mean).square().sum() / (n - 1));
  return {mean * largest, sd * largest};
}

}  // namespace

std::vector<double> TermLearner::used_values(const Column& column) const {
  std::vector<double> values;
  values.reserve(rows.size());
  for (const Index row : rows) values.push_back(column.values[row]);
  return values;
}

void TermLearner::learn(const Column& column, DesignSpec& spec, std::vector<std::string>& notes) const {
  std::optional<Term> term;
  if (column.kind == ColumnKind::text) {
    term = levels_term(column, spec, notes);
  } else if (options.discretise == Discretise::mdlp) {
    term = bins_term(column, spec);
  } else {
    term = number_term(column, spec);
  }
  if (term) spec.terms.push_back(std::move(*term));
}

std::optional<Term> TermLearner::number_term(const Column& column, DesignSpec& spec) const {
  const std::vector<double> values = used_values(column);
  NumberTerm term;
  bool constant = is_constant(values);
  if (!constant && options.standardise) {
    term = mean_and_sd(values);
    constant = !(term.sd > 0);
    if (!std::isfinite(term.sd))
      throw DataError(fmt::format("{}: the numbers in column {} are too large to standardise", table.source,
                                  excerpt(column.name)));
  }
  if (!constant) return Term{column.name, term};
  spec.dropped.push_back({column.name, kConstant});
  return std::nullopt;
}

std::optional<Term> TermLearner::bins_term(const Column& column, DesignSpec& spec) const {
  const std::vector<double> values = used_values(column);
  BinsTerm term;
  term.cuts = mdlp_cuts(values, classes, 2);
  if (term.cuts.empty()) {
    spec.dropped.push_back({column.name, is_constant(values) ? kConstant : "no cut tells the classes apart"});
    return std::nullopt;
  }
  std::vector<Index> counts(term.cuts.size() + 1, 0);
  for (const double value : values) ++counts[static_cast<std::size_t>(bin_of(value, term.cuts))];
  term.baseline = std::max_element(counts.begin(), counts.end()) - counts.begin();
  for (Index bin = 0; bin < static_cast<Index>(counts.size()); ++bin)
    if (bin != term.baseline) term.coded.push_back(bin);
  std::stable_sort(term.coded.begin(), term.coded.end(), [&](Index a, Index b) {
    return counts[static_cast<std::size_t>(a)] < counts[static_cast<std::size_t>(b)];
  });
  return Term{column.name, std::move(term)};
}

std::optional<Term> TermLearner::levels_term(const Column& column, DesignSpec& spec,
                                             std::vector<std::string>& notes) const {
  std::map<std::string, Index> counts;
  std::vector<Index> by_number(column.levels.size(), 0);
  for (const Index row : rows) ++by_number[static_cast<std::size_t>(column.values[row])];
  for (std::size_t level = 0; level < by_number.size(); ++level)
    if (by_number[level] > 0) counts[column.levels[level]] = by_number[level];
  if (counts.size() == 1) {
    spec.dropped.push_back({column.name, kConstant});
    return std::nullopt;
  }
  if (static_cast<Index>(counts.size()) > options.max_levels)
    throw DataError(
        fmt::format("{}: the text column {} has {} different texts in {} rows, too many for indicators; "
                    "exclude it, or correct its cells if they should be numbers",
                    table.source, excerpt(column.name), counts.size(), rows.size()));
  LevelsTerm term;
  Index most = 0;
  for (const auto& [level, count] : counts) {
    if (count > most) term.baseline = static_cast<Index>(term.levels.size());
    most = std::max(most, count);
    term.levels.push_back(level);
  }
  for (Index level = 0; level < static_cast<Index>(term.levels.size()); ++level)
    if (level != term.baseline) term.coded.push_back(level);
  notes.push_back(fmt::format("text column {}: {} levels, baseline {} ({} rows)", excerpt(column.name),
                              term.levels.size(),
                              excerpt(term.levels[static_cast<std::size_t>(term.baseline)]), most));
  return Term{column.name, std::move(term)};
}

}  // namespace magva::input
