#pragma once
// All groups of a chunk at once: each step, of a search for their modes or of a quadrature, looks at all rows
// in one pass.
#include <vector>

#include "mixed/group_integral.hpp"
#include "mixed/hermite.hpp"
#include "mixed/row_likelihood.hpp"

namespace magva::mixed {

/// Groups of one factor, whose rows are contiguous.
struct FactorRows {
  const Problem& problem;
  const RowLikelihood& likelihood;
  const std::vector<Index>& ends;  ///< one past the last row of each group

  Index begin(Index group) const { return group == 0 ? 0 : ends[static_cast<std::size_t>(group - 1)]; }
  Index end(Index group) const { return ends[static_cast<std::size_t>(group)]; }
  /// Of each linear predictor, and of all.
  Index effects_each() const { return problem.data.terms[0].effect_count(); }
  Index effects() const { return problem.predictors * effects_each(); }
};

/// The effects of each group are u = Lambda v, v ~ N(0, I), those of each linear predictor after the others.
/// A Gaussian stands around the mode of each group's integrand.
class GroupBatch {
 public:
  /// Finds the modes. All arguments must outlive it.
  GroupBatch(const FactorRows& rows, const GroupChunk& chunk, const HyperValues& at, const double* eta);

  /// The sum of the groups' log integrals.
  double log_integral(const HermiteRules& rules);
  /// With derivatives, as GroupIntegral::integrate says.
  double integrate(const HermiteRules& rules, double* slopes, IntegralSums& sums);
  /// Draws of all groups' effects given the data, by rejection.
  void draw(std::uint64_t seed, std::uint32_t first, const std::vector<EffectColumns>& out);

 private:
  Index groups() const { return chunk_.groups; }
  /// Of a group in the chunk: its first row in the chunk, and how many.
  Index row(Index g) const { return rows_.begin(chunk_.first_group + g) - chunk_.first_row; }
  Index count(Index g) const {
    return rows_.end(chunk_.first_group + g) - rows_.begin(chunk_.first_group + g);
  }
  RowsAt all_rows() const { return {chunk_.first_row, chunk_.rows, at_.data(), chunk_.rows, own_.data()}; }
  /// Linear predictors of the groups [first, end) with these effects.
  void set_predictors(const Matrix& v, Index first, Index end);
  void find_modes();
  /// Gradient and negative Hessian of the log integrand of a group at `v`, from the rows' derivatives.
  void differentiate(Index g, const SmallVector& v, SmallVector& gradient, SmallMatrix& precision) const;
  /// Sums of `value_` over the rows of each group, less |v|^2 / 2 and the value at the mode.
  void relative_integrands(const Matrix& v, Index first, Index end, VectorRef out) const;
  /// The largest sd of a row's linear predictors.
  double spread() const;
  Matrix around_modes(const Vector& point) const;
  double total(const Vector& sums) const {
    return (sums.array().log() + at_mode_.array() + log_volume_.array()).sum();
  }
  void find_bounds();

  const FactorRows& rows_;
  const GroupChunk& chunk_;
  const std::vector<Matrix>& lambda_;
  const Vector& own_;
  const double* eta_;
  std::vector<RowMatrix> a_;  // of each predictor Lambda' z, a column for each row; empty for an intercept
  Vector at_, value_, by_eta_, curvature_;  // of the rows
  Matrix mode_;                             // a column for each group
  Matrix factor_;                           // C with C C' = H^-1, column by column
  Vector log_volume_;                       // log |C|
  Vector at_mode_;                          // log integrand
  Vector bound_;  // of log integrand - log proposal density, both relative to the mode
};

}  // namespace magva::mixed
