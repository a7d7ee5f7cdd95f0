#include "oracle.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <optional>

#include "magva/auto/quadratic_fit.hpp"

namespace magva::bench {

namespace {

constexpr int kRounds = 400;
constexpr int kStalled = 20;        // rounds without progress before the end
constexpr double kProgress = 1e-5;  // nats

/// The best Gaussian for a precision, found from where the last search for a similar one ended.
class Fitted {
 public:
  Gaussian operator()(ConstVectorRef mean, ConstMatrixRef precision, Index rank);

 private:
  std::optional<QuadraticFitter> last_;
};

Gaussian Fitted::operator()(ConstVectorRef mean, ConstMatrixRef precision, Index rank) {
  if (rank >= precision.rows()) {
    const Matrix inverse = precision.llt().solve(Matrix::Identity(precision.rows(), precision.rows()));
    return Gaussian::dense(mean, inverse.llt().matrixL());
  }
  QuadraticFitter fitter = last_ ? QuadraticFitter(precision, *last_) : QuadraticFitter(precision);
  QuadraticFit fit = fitter.fit(rank);
  last_ = std::move(fitter);
  return Gaussian::low_rank(mean, std::move(fit.factors), std::move(fit.residual_sd));
}

Glm::Expectation expectation(const Glm& glm, const Gaussian& q) {
  Vector variance = (glm.design() * q.factors()).rowwise().squaredNorm();
  if (!q.is_dense()) variance += glm.design().cwiseAbs2() * q.residual_sd().cwiseAbs2();
  return glm.expectation(q.mean(), variance, q.sd().cwiseAbs2());
}

// One damped step; the damping doubles until the ELBO rises.
bool improve(const Glm& glm, Index rank, Fitted& fitted, Optimum& at, double& share) {
  const auto expected = expectation(glm, at.gaussian);
  const Matrix curvature = glm.expected_curvature(expected.weight);
  const Vector newton = curvature.llt().solve(expected.gradient);
  const Matrix precision = at.gaussian.solve(Matrix::Identity(glm.dimension(), glm.dimension()));
  for (; share > 1e-3; share *= .5) {
    const Gaussian next =
        fitted(at.gaussian.mean() + share * newton, (1 - share) * precision + share * curvature, rank);
    const double elbo = glm.elbo(next);
    if (!(elbo > at.elbo)) continue;
    at = {next, elbo};
    share = std::min(1., 1.5 * share);
    return true;
  }
  return false;
}

}  // namespace

Optimum best_gaussian(const Glm& glm, Index rank, ConstVectorRef from) {
  const Vector none = Vector::Constant(glm.design().rows(), 1e-12);
  const Vector tiny = Vector::Constant(glm.dimension(), 1e-12);
  Vector mean = from;
  for (int k = 0; k < 50; ++k) {
    const auto e = glm.expectation(mean, none, tiny);
    Vector step = glm.expected_curvature(e.weight).llt().solve(e.gradient);
    while (glm.expectation(mean + step, none, tiny).value < e.value && step.norm() > 1e-12) step *= .5;
    mean += step;
    if (step.dot(e.gradient) < 1e-8) break;
  }
  Fitted fitted;
  const Matrix curvature = glm.expected_curvature(glm.expectation(mean, none, tiny).weight);
  Gaussian start = fitted(mean, curvature, rank);
  Optimum best{start, glm.elbo(start)};
  // A mode's curvature may be far too small: the start shrinks while that helps.
  for (double factor = 4; factor < 1e6; factor *= 4) {
    const Gaussian narrower = fitted(mean, factor * curvature, rank);
    const double elbo = glm.elbo(narrower);
    if (elbo < best.elbo) break;
    best = {narrower, elbo};
  }
  double share = .7;
  int stalled = 0;
  for (int k = 0; k < kRounds && stalled < kStalled; ++k) {
    const double before = best.elbo;
    if (!improve(glm, rank, fitted, best, share)) break;
    stalled = best.elbo - before < kProgress ? stalled + 1 : 0;
  }
  return best;
}

}  // namespace magva::bench
