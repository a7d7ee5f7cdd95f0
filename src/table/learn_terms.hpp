#pragma once
// What the coding of a design needs to know of a column, gathered row by row: the same numbers whether the
// rows come at once or in parts.
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "magva/table.hpp"
#include "table/design_spec.hpp"
#include "table/table_ranks.hpp"

namespace magva::table {

/// A predictor, over the rows that are used.
class ColumnSummary {
 public:
  explicit ColumnSummary(bool with_moments = false) : with_moments_(with_moments) {}
  void add(const Column& column, const std::vector<Index>& rows);

  bool constant() const { return constant_; }
  double mean() const { return static_cast<double>(mean_); }
  double sd() const;  ///< divisor n - 1
  /// Of text: how many rows have each level, by its number.
  const std::vector<Index>& level_counts() const { return level_counts_; }

  template <class Archive>
  void transfer(Archive& archive) {
    archive(with_moments_, count_, first_, constant_, mean_, squares_, level_counts_);
  }

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

  /// How many rows have each value (of text: each level's number); incomplete if there are `too_many`.
  const std::map<double, Index>& distinct() const { return distinct_; }
  bool too_many() const { return too_many_; }
  bool counts() const { return counts_; }  ///< 0, 1, 2, ... alone
  double smallest() const { return smallest_; }

  template <class Archive>
  void transfer(Archive& archive) {
    archive(distinct_, too_many_, counts_, smallest_, empty_);
  }

 private:
  void add(double value);

  std::map<double, Index> distinct_;
  bool too_many_ = false;
  bool counts_ = true;
  double smallest_ = 0;
  bool empty_ = true;
};

struct FeatureSelection {
  FeaturesTerm term;                   ///< with scales of one
  std::vector<DroppedColumn> dropped;  ///< those that are constant
  Index absent = 0;  ///< how many indices no row has: not named, since there may be millions
};

/// Which features of a LIBSVM file are in the design: those that `wanted` accepts by name and that are not
/// constant.
FeatureSelection select_features(const SparseRowMatrix& features,
                                 const std::function<bool(const std::string&)>& wanted);

/// Sets the scales to the standard deviations (divisor n - 1).
void scale_features(FeaturesTerm& term, const SparseRowMatrix& features);

// What a predictor column becomes in the design, learnt from the rows of a fit.

struct TermLearner {
  const std::string& source;
  const DesignOptions& options;
  Index rows;  ///< that are used, of all ranks
  /// For discretisation: this rank's rows that are used, and the class, 0 or 1, of each of all ranks' rows.
  const std::vector<Index>& chosen;
  const std::vector<int>& classes;
  const TableRanks& ranks;

  /// Adds the term of one column to the specification, or its name to those that were dropped.
  void learn(const Column& column, const ColumnSummary& summary, DesignSpec& spec,
             std::vector<std::string>& notes) const;

 private:
  std::optional<Term> number_term(const Column& column, const ColumnSummary& summary, DesignSpec& spec) const;
  std::optional<Term> bins_term(const Column& column, const ColumnSummary& summary, DesignSpec& spec) const;
  std::optional<Term> levels_term(const Column& column, const ColumnSummary& summary, DesignSpec& spec,
                                  std::vector<std::string>& notes) const;
};

}  // namespace magva::table
