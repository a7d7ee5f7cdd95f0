#include "truth.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace magva::bench {

namespace {

/// Newton steps with differences of gradients, shortened until they lead up.
Vector find_mode(const Density& density, Index m, Matrix& curvature) {
  Vector at = Vector::Zero(m), gradient(m), above(m), below(m);
  for (int k = 0; k < 200; ++k) {
    const double value = density(at, gradient);
    Matrix hessian(m, m);
    for (Index j = 0; j < m; ++j) {
      density(at + 1e-5 * Vector::Unit(m, j), above);
      density(at - 1e-5 * Vector::Unit(m, j), below);
      hessian.col(j) = (below - above) / 2e-5;
    }
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(.5 * (hessian + hessian.transpose()));
    const Vector values = eigen.eigenvalues().cwiseAbs().cwiseMax(1e-6);
    curvature = eigen.eigenvectors() * values.asDiagonal() * eigen.eigenvectors().transpose();
    const Vector step = curvature.llt().solve(gradient);
    double part = 1;
    while (part > 1e-8 && !(density(at + part * step, above) > value)) part *= .5;
    if (part <= 1e-8) break;
    at += part * step;
  }
  return at;
}

/// With root root' = curvature^-1.
Matrix inverse_root(const Matrix& curvature) {
  return Matrix(curvature.llt().matrixL()).inverse().transpose();
}

}  // namespace

Moments integrate_on_grid(const Density& density, Index m) {
  Matrix curvature;
  const Vector mode = find_mode(density, m, curvature);
  const Matrix root = inverse_root(curvature);
  const int points = m == 2 ? 401 : 91;
  Vector gradient(m);
  const double top = density(mode, gradient);
  const Vector even = Vector::LinSpaced(points, -1, 1);
  const Vector z = (4 * even.array()).sinh() / std::sinh(4.) * 60;
  const Vector width = (4 * even.array()).cosh();
  double mass = 0;
  Vector first = Vector::Zero(m), second = Vector::Zero(m), at(m);
  for (int k = 0; k < (m == 2 ? points * points : points * points * points); ++k) {
    double weight = 1;
    for (Index i = 0, rest = k; i < m; ++i, rest /= points) {
      at(i) = z(rest % points);
      weight *= width(rest % points);
    }
    const Vector theta = mode + root * at;
    weight *= std::exp(density(theta, gradient) - top);
    if (!std::isfinite(weight)) continue;
    mass += weight;
    first += weight * (theta - mode);
    second += weight * (theta - mode).cwiseAbs2();
  }
  const Vector shift = first / mass;
  return {mode + shift, (second / mass - shift.cwiseAbs2()).cwiseSqrt()};
}

Moments integrate_over_one(const GivenOne& given, Index m, double first, double last) {
  constexpr int kSteps = 9000;
  Vector mean(m), variance(m);
  Vector log_weight(kSteps + 1);
  const Vector t = Vector::LinSpaced(kSteps + 1, first, last);
  for (int k = 0; k <= kSteps; ++k) log_weight(k) = given(t(k), mean, variance);
  const double top = log_weight.maxCoeff();
  double mass = 0;
  Vector sum = Vector::Zero(m), squares = Vector::Zero(m);
  for (int k = 0; k <= kSteps; ++k) {
    const double weight = std::exp(log_weight(k) - top);
    if (weight == 0) continue;
    given(t(k), mean, variance);
    mass += weight;
    sum += weight * mean;
    squares += weight * (mean.cwiseAbs2() + variance);
  }
  sum /= mass;
  return {sum, (squares / mass - sum.cwiseAbs2()).cwiseSqrt()};
}

Moments integrate_over_one(const GivenOne& given, Index m, double first, double last,
                           KnownQuantity& quantity) {
  const GivenOne both = [&](double t, Vector& mean, Vector& variance) {
    mean(m) = quantity.of(t);
    variance(m) = 0;
    return given(t, mean, variance);
  };
  const Moments all = integrate_over_one(both, m + 1, first, last);
  quantity.mean = all.mean(m);
  quantity.sd = all.sd(m);
  return {all.mean.head(m), all.sd.head(m)};
}

namespace {

/// Hamiltonian Monte Carlo in coordinates in which the posterior is about N(0, I), each path about a quarter
/// of a turn; the step is learned while it warms up.
class Chain {
 public:
  Chain(const Density& density, Vector centre, Matrix root, std::mt19937_64& generator)
      : density_(density),
        centre_(std::move(centre)),
        root_(std::move(root)),
        generator_(generator),
        at_(Vector::Zero(centre_.size())),
        slope_(centre_.size()) {
    value_ = evaluate(at_, slope_);
  }

  /// Draws in the columns.
  Matrix run(Index count, bool learn) {
    Matrix out(centre_.size(), count);
    for (Index k = 0; k < count; ++k) {
      const double accepted = step();
      if (learn) size_ *= std::exp((accepted - .8) / std::sqrt(1. + static_cast<double>(k)));
      out.col(k) = centre_ + root_ * at_;
    }
    return out;
  }

 private:
  double evaluate(const Vector& at, Vector& slope) const {
    Vector gradient(at.size());
    const double value = density_(centre_ + root_ * at, gradient);
    slope = root_.transpose() * gradient;
    return value;
  }

  double step() {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    Vector speed = Vector::NullaryExpr(at_.size(), [&] { return normal(generator_); });
    const double energy = value_ - .5 * speed.squaredNorm();
    const double length = std::numbers::pi * (.25 + .5 * uniform(generator_));
    const int steps = std::clamp(static_cast<int>(length / size_), 1, 60);
    Vector at = at_, slope = slope_;
    double value = value_;
    for (int k = 0; k < steps && std::isfinite(value); ++k) {
      speed += .5 * size_ * slope;
      at += size_ * speed;
      value = evaluate(at, slope);
      speed += .5 * size_ * slope;
    }
    const double ratio = std::exp(std::min(0., value - .5 * speed.squaredNorm() - energy));
    if (!(uniform(generator_) < ratio)) return std::isfinite(ratio) ? ratio : 0;
    at_ = at;
    slope_ = slope;
    value_ = value;
    return ratio;
  }

  const Density& density_;
  Vector centre_;
  Matrix root_;
  std::mt19937_64& generator_;
  Vector at_, slope_;
  double value_;
  double size_ = .3;
};

Matrix covariance_of(const Matrix& draws) {
  const Matrix deviation = draws.colwise() - draws.rowwise().mean();
  return deviation * deviation.transpose() / static_cast<double>(draws.cols());
}

/// Standard errors by the means of batches: of the mean in sds, and of the log of the sd; the largest.
bool is_sure(const Matrix& draws, const Moments& moments) {
  constexpr Index kBatches = 40;
  const Index length = draws.cols() / kBatches;
  Matrix first(draws.rows(), kBatches), second(draws.rows(), kBatches);
  for (Index b = 0; b < kBatches; ++b) {
    const Matrix z = moments.sd.cwiseInverse().asDiagonal() *
                     (draws.middleCols(b * length, length).colwise() - moments.mean);
    first.col(b) = z.rowwise().mean();
    second.col(b) = .5 * z.cwiseAbs2().rowwise().mean();
  }
  const auto largest_se = [&](const Matrix& of) {
    return std::sqrt(covariance_of(of).diagonal().maxCoeff() / static_cast<double>(kBatches));
  };
  return largest_se(first) < .02 && largest_se(second) < .03;
}

}  // namespace

std::optional<Moments> sample_moments(const Density& density, Index m, std::mt19937_64& generator) {
  constexpr Index kChains = 4, kWarmUp = 500, kDraws = 2500;
  Matrix curvature;
  const Vector mode = find_mode(density, m, curvature);
  Chain first(density, mode, inverse_root(curvature), generator);
  first.run(kWarmUp, true);
  const Matrix early = first.run(2 * kWarmUp, false);
  const Matrix root = covariance_of(early).llt().matrixL();
  Matrix draws(m, kChains * kDraws);
  for (Index c = 0; c < kChains; ++c) {
    Chain chain(density, early.rowwise().mean(), root, generator);
    chain.run(kWarmUp, true);
    draws.middleCols(c * kDraws, kDraws) = chain.run(kDraws, false);
  }
  Moments moments{draws.rowwise().mean(), covariance_of(draws).diagonal().cwiseSqrt()};
  return is_sure(draws, moments) ? std::optional(moments) : std::nullopt;
}

}  // namespace magva::bench
