#include "newton.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>

namespace magva::bench {

namespace {

constexpr int kRounds = 400;
constexpr int kStalled = 20;        // rounds without progress before the end
constexpr double kProgress = 1e-5;  // nats

Gaussian with_precision(ConstVectorRef mean, const Matrix& precision) {
  const Matrix inverse = precision.llt().solve(Matrix::Identity(precision.rows(), precision.rows()));
  return Gaussian::dense(mean, inverse.llt().matrixL());
}

struct Point {
  NewtonOptimum at;
  Gaussian gaussian;
};

Point point(const Glm& glm, ConstVectorRef mean, const Matrix& precision) {
  Gaussian q = with_precision(mean, precision);
  const double elbo = glm.elbo(q);
  return {{mean, precision, elbo}, std::move(q)};
}

// One damped step; the damping doubles until the ELBO rises.
bool improve(const Glm& glm, Point& best, double& share) {
  const Gaussian& q = best.gaussian;
  const auto expected =
      glm.expectation(q.mean(), (glm.design() * q.factors()).rowwise().squaredNorm(), q.sd().cwiseAbs2());
  const Matrix curvature = glm.expected_curvature(expected.weight);
  const Vector newton = curvature.llt().solve(expected.gradient);
  for (; share > 1e-3; share *= .5) {
    Point next = point(glm, q.mean() + share * newton, (1 - share) * best.at.curvature + share * curvature);
    if (!(next.at.elbo > best.at.elbo)) continue;
    best = std::move(next);
    share = std::min(1., 1.5 * share);
    return true;
  }
  return false;
}

Vector mode(const Glm& glm) {
  const Vector none = Vector::Constant(glm.design().rows(), 1e-12);
  const Vector tiny = Vector::Constant(glm.dimension(), 1e-12);
  Vector mean = Vector::Zero(glm.dimension());
  for (int k = 0; k < 50; ++k) {
    const auto e = glm.expectation(mean, none, tiny);
    Vector step = glm.expected_curvature(e.weight).llt().solve(e.gradient);
    while (glm.expectation(mean + step, none, tiny).value < e.value && step.norm() > 1e-12) step *= .5;
    mean += step;
    if (step.dot(e.gradient) < 1e-8) break;
  }
  return mean;
}

}  // namespace

NewtonOptimum best_full_rank(const Glm& glm) {
  const Vector none = Vector::Constant(glm.design().rows(), 1e-12);
  const Vector tiny = Vector::Constant(glm.dimension(), 1e-12);
  const Vector mean = mode(glm);
  const Matrix curvature = glm.expected_curvature(glm.expectation(mean, none, tiny).weight);
  Point best = point(glm, mean, curvature);
  // A mode's curvature may be far too small: the start shrinks while that helps.
  for (double factor = 4; factor < 1e6; factor *= 4) {
    Point narrower = point(glm, mean, factor * curvature);
    if (narrower.at.elbo < best.at.elbo) break;
    best = std::move(narrower);
  }
  double share = .7;
  int stalled = 0;
  for (int k = 0; k < kRounds && stalled < kStalled; ++k) {
    const double before = best.at.elbo;
    if (!improve(glm, best, share)) break;
    stalled = best.at.elbo - before < kProgress ? stalled + 1 : 0;
  }
  return best.at;
}

}  // namespace magva::bench
