#pragma once
// The likelihood of rows as a function of their linear predictors, of which there may be several.
#include <memory>

#include "mixed/layout.hpp"

namespace magva::mixed {

/// Some rows at one theta: where they begin, how many they are, and their linear predictors, those of the
/// next predictor `stride` further. Results of several predictors lie as far apart.
struct RowsAt {
  Index first, count;
  const double* eta;
  Index stride;
  const double* own;  ///< the family's own values

  RowsAt part(Index begin, Index rows) const { return {first + begin, rows, eta + begin, stride, own}; }
};

/// The third derivatives of each row's log p by its predictors as a sum of cubes, sum_k size(k, i) d d d with
/// d the column i * points() + k of `direction`.
struct ThirdDerivatives {
  Matrix size;
  Matrix direction;
  Index points() const { return size.rows(); }
};

/// All values and derivatives are multiplied by the rows' weights.
class RowLikelihood {
 public:
  virtual ~RowLikelihood() = default;
  /// log p of each row, but for its constant.
  virtual void values(const RowsAt& rows, double* value) const = 0;
  /// With its derivatives by the predictors; those by own value k of row i go to by_own[k * rows.count + i].
  virtual void slopes(const RowsAt& rows, double* value, double* by_eta, double* by_own) const = 0;
  /// With minus its second derivatives, by predictors c >= d at place c (c + 1) / 2 + d; where log p is not
  /// concave, zero.
  virtual void curvatures(const RowsAt& rows, double* value, double* by_eta, double* curvature) const = 0;
  virtual ThirdDerivatives thirds(const RowsAt& rows) const = 0;
  /// Sum over the rows of sum_cdef h_cd h_ef d^4 log p / d eta_c .. d eta_f, with h_cd at place (c, d) of the
  /// row of `forms`.
  virtual double contracted_fourths(const RowsAt& rows, ConstMatrixRef forms) const = 0;
};

/// Place of the second derivative by predictors c and d, and how many there are.
inline Index pair_place(Index c, Index d) { return c >= d ? c * (c + 1) / 2 + d : d * (d + 1) / 2 + c; }
inline Index pair_count(Index predictors) { return predictors * (predictors + 1) / 2; }

/// The problem must outlive them.
std::unique_ptr<const RowLikelihood> make_row_likelihood(const Problem& problem);

}  // namespace magva::mixed
