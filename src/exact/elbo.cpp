#include "exact/elbo.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "core/low_rank_plus_diagonal.hpp"

namespace magva {

Evaluation ExactElbo::prepare(Index factors) {
  if (!scratch_ || factors != scratch_factors_) {
    scratch_ = expected_.make_scratch(factors);
    scratch_factors_ = factors;
  }
  ++passes_;
  return {*scratch_, workers_};
}

double ExactElbo::with_entropy(double expectation, double log_determinant) const {
  const double elbo = expectation + .5 * (log_determinant + static_cast<double>(dimension()) *
                                                                (1 + std::log(2 * std::numbers::pi)));
  return std::isfinite(elbo) ? elbo : -std::numeric_limits<double>::infinity();
}

double ExactElbo::low_rank(ConstVectorRef mean, ConstMatrixRef factors, ConstVectorRef residual_sd,
                           LowRankDerivatives& out) {
  Evaluation evaluation = prepare(factors.cols());
  CurvatureProducts curvature;
  out.mean.resize(dimension());
  const double expectation = expected_.expect({mean, factors, residual_sd}, out.mean, curvature, evaluation);
  const LowRankPlusDiagonal sigma(factors, residual_sd);
  out.factors = sigma.solve(factors) - curvature.times_factors;
  out.residual_sd = (sigma.inverse_diagonal() - curvature.diagonal).cwiseProduct(residual_sd);
  return with_entropy(expectation, sigma.log_determinant());
}

ProductElbo ExactElbo::low_rank_products(ConstVectorRef mean, ConstMatrixRef factors,
                                         ConstVectorRef residual_sd) {
  Evaluation evaluation = prepare(factors.cols());
  ProductElbo out{0, Vector(dimension()), {}};
  const double expectation =
      expected_.expect({mean, factors, residual_sd}, out.gradient, out.curvature, evaluation);
  out.elbo = with_entropy(expectation, LowRankPlusDiagonal(factors, residual_sd).log_determinant());
  return out;
}

CurvedElbo ExactElbo::low_rank(ConstVectorRef mean, ConstMatrixRef factors, ConstVectorRef residual_sd) {
  Evaluation evaluation = prepare(factors.cols());
  CurvedElbo out{0, Vector(dimension()), Matrix()};
  const double expectation =
      expected_.expect({mean, factors, residual_sd}, out.gradient, out.curvature, evaluation);
  const LowRankPlusDiagonal sigma(factors, residual_sd);
  out.elbo = with_entropy(expectation, sigma.log_determinant());
  return out;
}

CurvedElbo ExactElbo::full_rank(ConstVectorRef mean, ConstMatrixRef root, double log_determinant) {
  Evaluation evaluation = prepare(0);
  CurvedElbo out{0, Vector(dimension()), Matrix()};
  const double expectation =
      expected_.expect({mean, root, Vector()}, out.gradient, out.curvature, evaluation);
  out.elbo = with_entropy(expectation, log_determinant);
  return out;
}

CurvedElbo ExactElbo::point(ConstVectorRef theta) {
  Evaluation evaluation = prepare(0);
  CurvedElbo out{0, Vector(dimension()), Matrix()};
  out.elbo =
      expected_.expect({theta, Matrix(dimension(), 0), Vector()}, out.gradient, out.curvature, evaluation);
  return out;
}

double ExactElbo::point(ConstVectorRef theta, Vector& gradient) {
  Evaluation evaluation = prepare(0);
  CurvatureProducts ignored;
  gradient.resize(dimension());
  return expected_.expect({theta, Matrix(dimension(), 0), Vector()}, gradient, ignored, evaluation);
}

}  // namespace magva
