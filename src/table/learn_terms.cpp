#include "table/learn_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "magva/error.hpp"
#include "table/mdlp.hpp"
#include "table/message.hpp"

namespace magva::table {

void ColumnSummary::add_moment(double value) {
  const long double before = static_cast<long double>(value) - mean_;
  mean_ += before / static_cast<long double>(count_);
  squares_ += before * (static_cast<long double>(value) - mean_);
}

void ColumnSummary::add(const Column& column, const std::vector<Index>& rows) {
  const bool text = column.kind == ColumnKind::text;
  if (text) level_counts_.resize(std::max(level_counts_.size(), column.levels.size()), 0);
  for (const Index row : rows) {
    const double value = column.values[row];
    if (count_++ == 0) first_ = value;
    constant_ = constant_ && value == first_;
    if (text)
      ++level_counts_[static_cast<std::size_t>(value)];
    else if (with_moments_)
      add_moment(value);
  }
}

double ColumnSummary::sd() const {
  return static_cast<double>(std::sqrt(squares_ / static_cast<long double>(count_ - 1)));
}

void ResponseSummary::add(double value) {
  counts_ = counts_ && value >= 0 && value == std::floor(value);
  smallest_ = empty_ ? value : std::min(smallest_, value);
  empty_ = false;
  if (too_many_) return;
  const auto known = distinct_.find(value + 0.0);
  if (known != distinct_.end()) {
    ++known->second;
  } else if (distinct_.size() < kMostDistinct) {
    distinct_.emplace(value + 0.0, 1);
  } else {
    too_many_ = true;
  }
}

void ResponseSummary::add(const Column& column, const std::vector<Index>& rows) {
  for (const Index row : rows) add(column.values[row]);
}

void ResponseSummary::add(const Column& column) {
  for (Index row = 0; row < column.values.size(); ++row)
    if (!column.missing(row)) add(column.values[row]);
}

namespace {

/// What the cells that are not zero say about a feature.
struct Cells {
  Index count = 0;
  double lowest = 0, highest = 0;

  void add(double value) {
    lowest = count == 0 ? value : std::min(lowest, value);
    highest = count == 0 ? value : std::max(highest, value);
    ++count;
  }
  bool constant(Index rows) const { return count == rows && lowest == highest; }
};

template <class Visit>
void for_each_cell(const SparseRowMatrix& matrix, Visit&& visit) {
  for (Index row = 0; row < matrix.rows(); ++row)
    for (SparseRowMatrix::InnerIterator cell(matrix, row); cell; ++cell) visit(cell.col(), cell.value());
}

}  // namespace

FeatureSelection select_features(const SparseRowMatrix& features,
                                 const std::function<bool(const std::string&)>& wanted) {
  std::vector<Cells> cells(static_cast<std::size_t>(features.cols()));
  for_each_cell(features,
                [&](Index column, double value) { cells[static_cast<std::size_t>(column)].add(value); });
  FeatureSelection selection;
  selection.term.count = features.cols();
  for (Index index = 1; index <= features.cols(); ++index) {
    const Cells& own = cells[static_cast<std::size_t>(index - 1)];
    if (own.count == 0) {
      ++selection.absent;
      continue;
    }
    const std::string name = feature_name(index);
    if (!wanted(name)) continue;
    if (own.constant(features.rows())) {
      selection.dropped.push_back({name, "constant"});
    } else {
      selection.term.kept.push_back(index);
    }
  }
  selection.term.scales.assign(selection.term.kept.size(), 1.0);
  return selection;
}

void scale_features(FeaturesTerm& term, const SparseRowMatrix& features) {
  const auto n = static_cast<double>(features.rows());
  Vector mean = Vector::Zero(features.cols()), squares = mean, zeros = Vector::Constant(features.cols(), n);
  for_each_cell(features, [&](Index column, double value) { mean(column) += value / n; });
  for_each_cell(features, [&](Index column, double value) {
    squares(column) += (value - mean(column)) * (value - mean(column));
    zeros(column) -= 1;
  });
  for (std::size_t i = 0; i < term.kept.size(); ++i) {
    const Index column = term.kept[i] - 1;
    const double variance = (squares(column) + zeros(column) * mean(column) * mean(column)) / (n - 1);
    // If the squares overflow or vanish the feature stays as it is.
    if (std::isnormal(variance)) term.scales[i] = std::sqrt(variance);
  }
}

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
  Vector own(static_cast<Index>(chosen.size()));
  std::transform(chosen.begin(), chosen.end(), own.begin(), [&](Index row) { return column.values[row]; });
  const Vector values = ranks.gather(std::move(own));
  BinsTerm term;
  term.cuts = mdlp_cuts({values.data(), static_cast<std::size_t>(values.size())}, classes, 2);
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

}  // namespace magva::table
