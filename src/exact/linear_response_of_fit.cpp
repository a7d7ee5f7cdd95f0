// The covariance by linear response of a fitted Gaussian, by the way that its model allows.
#include <Eigen/Cholesky>

#include <cmath>
#include <limits>

#include "exact/linear_response.hpp"

namespace magva {

namespace {

/// Largest m: the covariance is a dense matrix.
constexpr Index kMostParameters = 2000;
/// Numbers in a design that is worth looking at, at most: an eighth of a gigabyte.
constexpr double kMostNumbers = 16e6;
/// Multiplications by differences, at most: some tenths of a second.
constexpr double kMostDifferencesWork = 5e8;
/// Of a Newton step of a low-rank fit that goes on to full rank, at most.
constexpr double kMostNewtonWork = 1e9;
/// Products with the Hessian that one parameter takes, about.
constexpr double kUsualProducts = 8;
constexpr int kMostProducts = 60;
/// Of a solution, relative; variances err by its square.
constexpr double kResidual = 1e-4;
/// Of a difference, in posterior sds: errors of 1e-10 in expectations leave derivatives to 1e-7.
constexpr double kDifference = 1e-3;

/// A move of a Gaussian in the coordinates of its root L: of the mean by L `mean`, of the covariance by
/// L `covariance` L'.
struct Move {
  Vector mean;
  Matrix covariance;

  double dot(const Move& other) const {
    return mean.dot(other.mean) + covariance.cwiseProduct(other.covariance).sum();
  }
  void add(double share, const Move& other) {
    mean += share * other.mean;
    covariance += share * other.covariance;
  }
};

/// Minus the ELBO's Hessian at its maximum, where the gradient by the covariance, (Sigma^-1 - C) / 2, is 0.
class NegativeHessian {
 public:
  NegativeHessian(ExactElbo& elbo, const Vector& mean, const Matrix& root)
      : elbo_(elbo), mean_(mean), root_(root) {}

  Move operator*(const Move& x) const {
    const double h = kDifference / std::sqrt(x.dot(x));
    const CurvedElbo above = at(h, x);
    const CurvedElbo below = at(-h, x);
    const Vector slope = root_.transpose() * (above.gradient - below.gradient) / (2 * h);
    const Matrix bend = root_.transpose() * (above.curvature - below.curvature) * root_ / (2 * h);
    return {-slope, .5 * (x.covariance + bend)};
  }

 private:
  CurvedElbo at(double h, const Move& x) const {
    const Index m = mean_.size();
    const Eigen::LLT<Matrix> moved(Matrix::Identity(m, m) + h * x.covariance);
    return elbo_.full_rank(mean_ + h * root_ * x.mean, root_ * Matrix(moved.matrixL()), 0);
  }

  ExactElbo& elbo_;
  const Vector& mean_;
  const Matrix& root_;
};

/// How the mean answers a tilt, by conjugate gradients; preconditioned by the Hessian of a Gaussian
/// posterior, which is the identity for the mean and half of it for the covariance.
std::optional<Vector> mean_response(const NegativeHessian& hessian, const Vector& tilt) {
  const Index m = tilt.size();
  const auto precondition = [](const Move& r) { return Move{r.mean, 2 * r.covariance}; };
  Move x{Vector::Zero(m), Matrix::Zero(m, m)};
  Move residual{tilt, Matrix::Zero(m, m)};
  Move direction = precondition(residual);
  double size = residual.dot(direction);
  const double enough = kResidual * kResidual * size;
  for (int k = 0; k < kMostProducts && size > enough; ++k) {
    const Move image = hessian * direction;
    const double curvature = direction.dot(image);
    if (!(curvature > 0)) return std::nullopt;
    const double step = size / curvature;
    x.add(step, direction);
    residual.add(-step, image);
    Move next = precondition(residual);
    const double now = residual.dot(next);
    next.add(now / size, direction);
    direction = std::move(next);
    size = now;
  }
  if (!(size <= enough)) return std::nullopt;
  return x.mean;
}

/// The best N(mean, Sigma), with E[-Hessian] there: Sigma^-1, and nearer to it than what was fitted.
struct BestFullRank {
  Vector mean;
  Matrix curvature;
};

double multiplications(const ExactElbo& elbo) {
  const auto m = static_cast<double>(elbo.dimension());
  return (static_cast<double>(elbo.expected().terms()) + m) * m * m;
}

/// After one more step, which takes no pass.
BestFullRank one_more_step(const Vector& mean, const Vector& gradient, Matrix curvature) {
  const Eigen::LLT<Matrix> llt(curvature);
  const bool concave = llt.info() == Eigen::Success;
  return {concave ? Vector(mean + llt.solve(gradient)) : mean, std::move(curvature)};
}

std::optional<BestFullRank> if_converged(FullRankFit fit) {
  if (!fit.stop.converged) return std::nullopt;
  return one_more_step(fit.mean, fit.gradient, std::move(fit.curvature));
}

/// From a fit of any rank.
std::optional<BestFullRank> best_full_rank(ExactElbo& elbo, const Gaussian& q,
                                           const std::optional<Matrix>& near, const ExactObserver& go_on) {
  if (q.is_dense()) {
    CurvedElbo at = elbo.full_rank(q.mean(), q.factors(), 0);
    return one_more_step(q.mean(), at.gradient, std::move(at.curvature));
  }
  if (!elbo.expected().log_concave() || multiplications(elbo) > kMostNewtonWork) return std::nullopt;
  if (near) return if_converged(fit_full_rank(elbo, q.mean(), *near, go_on));
  const Matrix there = elbo.low_rank(q.mean(), q.factors(), q.residual_sd()).curvature;
  return if_converged(fit_full_rank(elbo, q.mean(), there, go_on));
}

bool affordable_by_terms(const ExactElbo& elbo) {
  const Index terms = elbo.expected().terms();
  return static_cast<double>(terms) * static_cast<double>(elbo.dimension()) <= kMostNumbers &&
         linear_response_affordable(terms, elbo.dimension());
}

bool affordable_by_differences(const ExactElbo& elbo) {
  return 4 * static_cast<double>(elbo.dimension()) * kUsualProducts * multiplications(elbo) <=
         kMostDifferencesWork;
}

std::optional<Matrix> covariance_response(ExactElbo& elbo, const Vector& mean, const Matrix& covariance) {
  const Matrix root = covariance.llt().matrixL();
  if (affordable_by_terms(elbo))
    if (const auto terms = elbo.expected().predictor_terms({mean, root, Vector()}))
      return linear_response(*terms, covariance);
  if (!affordable_by_differences(elbo)) return std::nullopt;
  return linear_response_by_differences(elbo, mean, root);
}

/// Of sds, by their logarithms.
double largest_change(const Vector& sd, const Vector& before) {
  return (sd.array() / before.array()).log().abs().maxCoeff();
}
constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

double elbo_of(ExactElbo& elbo, const Gaussian& q) {
  if (q.is_dense()) return elbo.full_rank(q.mean(), q.factors(), q.log_determinant()).elbo;
  LowRankDerivatives unused;
  return elbo.low_rank(q.mean(), q.factors(), q.residual_sd(), unused);
}

/// The best full-rank Gaussian of z. Its ELBO is that of its theta, so that one of a log h that is not
/// concave must not be below the fit's.
std::optional<BestFullRank> best_reduced(ExactElbo& elbo, const Gaussian& q, const ReducedDensity& reduced,
                                         ExactElbo& within, const ExactObserver& go_on) {
  if (multiplications(within) > kMostNewtonWork) return std::nullopt;
  FullRankFit fit = fit_full_rank(within, reduce(reduced, q.mean()), go_on);
  if (!elbo.expected().log_concave() && fit.elbo < elbo_of(elbo, q) - kExactTolerance) return std::nullopt;
  return if_converged(std::move(fit));
}

/// In as many dimensions as there are terms, where these are fewer than the parameters.
std::optional<LinearResponse> reduced_linear_response(ExactElbo& elbo, const Gaussian& q,
                                                      const ExactObserver& go_on) {
  const auto reduced = worthwhile_reduction(elbo.expected());
  if (!reduced) return std::nullopt;
  ExactElbo within(*reduced->density, elbo.workers());
  const auto best = best_reduced(elbo, q, *reduced, within, go_on);
  if (!best) return std::nullopt;
  const auto covariance = positive_inverse(best->curvature);
  if (!covariance) return std::nullopt;
  const auto response = covariance_response(within, best->mean, *covariance);
  if (!response && q.is_dense()) return std::nullopt;
  const auto fitted = expand(*reduced, best->mean, *covariance);
  const auto corrected = response ? expand(*reduced, best->mean, *response) : fitted;
  if (!fitted || !corrected) return std::nullopt;
  const double change = response ? largest_change(corrected->sd(), fitted->sd()) : kNotKnown;
  return LinearResponse{q.is_dense() ? in_dense_form(*corrected) : *corrected, change};
}

}  // namespace

std::optional<Matrix> linear_response_by_differences(ExactElbo& elbo, const Vector& mean,
                                                     const Matrix& root) {
  const NegativeHessian hessian(elbo, mean, root);
  Matrix responses(mean.size(), mean.size());
  for (Index i = 0; i < mean.size(); ++i) {
    const auto response = mean_response(hessian, root.row(i).transpose());
    if (!response) return std::nullopt;
    responses.col(i) = root * *response;
  }
  return .5 * (responses + responses.transpose());
}

std::optional<LinearResponse> linear_response(ExactElbo& elbo, const Gaussian& q,
                                              const std::optional<Matrix>& near, const ExactObserver& go_on) {
  if (auto reduced = reduced_linear_response(elbo, q, go_on)) return reduced;
  if (q.dimension() > kMostParameters) return std::nullopt;
  if (q.is_dense() && !affordable_by_terms(elbo) && !affordable_by_differences(elbo)) return std::nullopt;
  const auto best = best_full_rank(elbo, q, near, go_on);
  if (!best) return std::nullopt;
  const auto covariance = positive_inverse(best->curvature);
  if (!covariance) return std::nullopt;
  const auto response = covariance_response(elbo, best->mean, *covariance);
  if (!response && q.is_dense()) return std::nullopt;
  const Eigen::LLT<Matrix> factor(response ? *response : *covariance);
  if (factor.info() != Eigen::Success) return std::nullopt;
  const double change =
      response ? largest_change(response->diagonal().cwiseSqrt(), covariance->diagonal().cwiseSqrt())
               : kNotKnown;
  return LinearResponse{Gaussian::dense(best->mean, factor.matrixL()), change};
}

}  // namespace magva
