#pragma once
// -tr(A Sigma)/2 + log|Sigma|/2 over Sigma = W W' + diag(d)^2 as a function for an ascent: it is evaluated
// some thousand times in a search over local maxima.
#include "magva/types.hpp"

namespace magva {

/// Products with L^-1 and L^-T, where A = L L', for matrices of few columns.
class InverseRoot {
 public:
  InverseRoot() = default;
  explicit InverseRoot(const Matrix& cholesky);

  /// out = L^-T v; `out` has rows() rows, of which those after the m-th are zeros.
  void times(ConstMatrixRef v, Matrix& out) const;
  /// out = L^-1 v.
  void transposed_times(ConstMatrixRef v, Matrix& out) const;
  /// m, filled up to whole vectors.
  Index rows() const { return upper_.rows(); }

 private:
  Matrix upper_, lower_;
};

/// Value and gradient in coordinates (V, x): W = L^-T V, and d^2 = c^2 (floor + exp(2 x)) with the
/// conditional sds c. In V the term tr(A W W') is |V|^2: an ascent takes a third of the iterations that it
/// takes in W scaled by c. Some residual sds may tend to 0 on the way to a maximum (factor analysis knows
/// this as a Heywood case): the floor keeps Sigma^-1 computable.
class QuadraticObjective {
 public:
  QuadraticObjective(const Matrix& cholesky, const InverseRoot& root, const Vector& conditional_sd,
                     Index rank);

  Index dimension() const { return sd_.size() * (rank_ + 1); }
  Vector coordinates(ConstMatrixRef factors, ConstVectorRef residual_sd) const;
  Matrix factors(ConstVectorRef at) const;
  Vector residual_sd(ConstVectorRef at) const;

  double operator()(ConstVectorRef at, VectorRef gradient);

 private:
  const Matrix& cholesky_;
  const InverseRoot& root_;
  const Vector& sd_;
  Index rank_;
  // Work memory.
  Matrix factors_, image_, solved_, capacitance_;
  Vector share_, ratio_, inverse_sd_;
};

}  // namespace magva
