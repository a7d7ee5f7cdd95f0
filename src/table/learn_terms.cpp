#include "table/learn_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "magva/error.hpp"
#include "table/mdlp.hpp"
#include "table/message.hpp"

namespace magva::input {

namespace {

const char* const kConstant = "constant";

}  // namespace

void TermLearner::learn(const Column& column, const ColumnSummary& summary, DesignSpec& spec,
                        std::vector<std::string>& notes) const {
  std::optional<Term> term;
  if (column.kind == ColumnKind::text) {
    term = levels_term(column, summary, spec, notes);
  } else if (options.discretise == Discretise::mdlp) {
    term = bins_term(column, summary, spec);
  } else {
    term = number_term(column, summary, spec);
  }
  if (term) spec.terms.push_back(std::move(*term));
}

std::optional<Term> TermLearner::number_term(const Column& column, const ColumnSummary& summary,
                                             DesignSpec& spec) const {
  NumberTerm term;
  bool constant = summary.constant();
  if (!constant && options.standardise) {
    term = {summary.mean(), summary.sd()};
    constant = !(term.sd > 0);
    if (!std::isfinite(term.sd))
      throw DataError(fmt::format("{}: the numbers in column {} are too large to standardise", source,
                                  excerpt(column.name)));
  }
  if (!constant) return Term{column.name, term};
  spec.dropped.push_back({column.name, kConstant});
  return std::nullopt;
}

std::optional<Term> TermLearner::bins_term(const Column& column, const ColumnSummary& summary,
                                           DesignSpec& spec) const {
  std::vector<double> values;
  values.reserve(chosen.size());
  for (const Index row : chosen) values.push_back(column.values[row]);
  BinsTerm term;
  term.cuts = mdlp_cuts(values, classes, 2);
  if (term.cuts.empty()) {
    spec.dropped.push_back({column.name, summary.constant() ? kConstant : "no cut tells the classes apart"});
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

std::optional<Term> TermLearner::levels_term(const Column& column, const ColumnSummary& summary,
                                             DesignSpec& spec, std::vector<std::string>& notes) const {
  std::map<std::string, Index> counts;
  const std::vector<Index>& by_number = summary.level_counts();
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
                    source, excerpt(column.name), counts.size(), rows));
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
