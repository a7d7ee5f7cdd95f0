#include "table/column_summary.hpp"

#include <algorithm>
#include <cmath>

namespace magva::input {

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

}  // namespace magva::input
