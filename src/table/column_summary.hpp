#pragma once
// What the coding of a design needs to know of a column, gathered row by row: the same numbers whether the
// rows come at once or in parts.
#include <map>
#include <vector>

#include "table/table.hpp"

namespace magva::input {

/// A predictor, over the rows that are used.
class ColumnSummary {
 public:
  explicit ColumnSummary(bool with_moments) : with_moments_(with_moments) {}
  void add(const Column& column, const std::vector<Index>& rows);

  bool constant() const { return constant_; }
  double mean() const { return static_cast<double>(mean_); }
  double sd() const;  ///< divisor n - 1
  /// Of text: how many rows have each level, by its number.
  const std::vector<Index>& level_counts() const { return level_counts_; }

 private:
  void add_moment(double value);

  bool with_moments_;
  Index count_ = 0;
  double first_ = 0;
  bool constant_ = true;
  // Welford's recurrence, in a format whose range holds the square of every double.
  long double mean_ = 0, squares_ = 0;
  std::vector<Index> level_counts_;
};

/// A response: its distinct values, up to some, and whether it can be a count.
class ResponseSummary {
 public:
  static constexpr std::size_t kMostDistinct = 1000;

  void add(const Column& column, const std::vector<Index>& rows);
  /// All rows where the response is not missing.
  void add(const Column& column);

  /// How many rows have each value (of text: each level's number); incomplete where there are `too_many`.
  const std::map<double, Index>& distinct() const { return distinct_; }
  bool too_many() const { return too_many_; }
  bool counts() const { return counts_; }  ///< 0, 1, 2, ... alone
  double smallest() const { return smallest_; }

 private:
  void add(double value);

  std::map<double, Index> distinct_;
  bool too_many_ = false;
  bool counts_ = true;
  double smallest_ = 0;
  bool empty_ = true;
};

}  // namespace magva::input
