#include "mixture/hyper_mode.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>

#include "mixture/joint_precision.hpp"

namespace magva {

namespace {

/// Steps, at most, and how often one is halved.
constexpr int kMostHyperSteps = 25;
constexpr int kMostHyperHalvings = 5;
/// The mode is found where a step would gain less, in nats.
constexpr double kHyperModeGain = .1;
/// Largest step of a hyper-parameter: of the logarithm of an sd, say.
constexpr double kLargestHyperStep = 1;
/// A step must not lose more than this, in nats: the draws' noise.
constexpr double kHyperNoise = .05;
/// Least curvature along a principal axis.
constexpr double kFlattest = .3;
/// Differences of gradients that give the curvature: at the start, on one side, and at the mode, on both, in
/// sds.
constexpr double kFirstHyperDifference = .1;
constexpr double kHyperDifference = .5;

/// Eigenvalues by their absolute value, and not too small.
Matrix made_positive(const Matrix& symmetric) {
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(symmetric);
  return eigen.eigenvectors() * eigen.eigenvalues().cwiseAbs().cwiseMax(kFlattest).asDiagonal() *
         eigen.eigenvectors().transpose();
}

class HyperModeSearch {
 public:
  explicit HyperModeSearch(ConditionalFit& fit) : fit_(fit), joint_(fit) {}

  std::optional<Gaussian> run(const Vector& from) {
    auto first = fit_.first(from);
    if (!first) return std::nullopt;
    at_ = std::move(*first);
    const auto d = static_cast<Index>(fit_.hyper_parameters().size());
    if (!guess_curvature(Vector::Constant(d, kFirstHyperDifference))) return std::nullopt;
    for (int k = 0; k < kMostHyperSteps && step(); ++k) {
    }
    measure_curvature(kHyperDifference * curvature_.diagonal().cwiseSqrt().cwiseInverse());
    const auto precision = joint_.make(at_, curvature_.llt().solve(Matrix::Identity(d, d)));
    if (!precision) return std::nullopt;
    return Gaussian::sparse(at_.theta, precision);
  }

 private:
  /// By differences on one side: steps learn more of it on their way.
  bool guess_curvature(const Vector& length) {
    const Vector values = at_.theta(fit_.hyper_parameters());
    Matrix found(length.size(), length.size());
    for (Index k = 0; k < length.size(); ++k) {
      const auto above = fit_.at(values + length(k) * Vector::Unit(length.size(), k), at_);
      if (!above) return false;
      found.col(k) = (at_.hyper_gradient - above->hyper_gradient) / length(k);
    }
    curvature_ = made_positive(.5 * (found + found.transpose()));
    return true;
  }

  /// False, and no change, where the others cannot be followed.
  bool measure_curvature(const Vector& length) {
    const Vector values = at_.theta(fit_.hyper_parameters());
    Matrix found(length.size(), length.size());
    for (Index k = 0; k < length.size(); ++k) {
      const Vector move = length(k) * Vector::Unit(length.size(), k);
      const auto above = fit_.at(values + move, at_);
      const auto below = above ? fit_.at(values - move, at_) : std::nullopt;
      if (!below) return false;
      found.col(k) = (below->hyper_gradient - above->hyper_gradient) / (2 * length(k));
    }
    curvature_ = made_positive(.5 * (found + found.transpose()));
    return true;
  }

  /// False where there is nothing left to gain.
  bool step() {
    const Vector newton = curvature_.llt().solve(at_.hyper_gradient);
    if (.5 * at_.hyper_gradient.dot(newton) < kHyperModeGain) return false;
    const Vector values = at_.theta(fit_.hyper_parameters());
    double length = std::min(1., kLargestHyperStep / newton.cwiseAbs().maxCoeff());
    for (int k = 0; k < kMostHyperHalvings; ++k, length *= .5) {
      const Vector move = length * newton;
      auto next = fit_.at(values + move, at_);
      if (!next || next->elbo < at_.elbo - kHyperNoise) continue;
      learn(move, at_.hyper_gradient - next->hyper_gradient);
      at_ = std::move(*next);
      return true;
    }
    return false;
  }

  /// The BFGS update, where the way shows positive curvature.
  void learn(const Vector& move, const Vector& change) {
    const double seen = move.dot(change);
    const Vector image = curvature_ * move;
    if (!(seen > .1 * kFlattest * move.squaredNorm())) return;
    curvature_ += change * change.transpose() / seen - image * image.transpose() / move.dot(image);
    curvature_ = made_positive(curvature_);
  }

  ConditionalFit& fit_;
  JointPrecision joint_;
  ConditionalGaussian at_;
  Matrix curvature_;
};

}  // namespace

std::optional<Gaussian> gaussian_at_hyper_mode(Evaluator& evaluator, const Gaussian& q,
                                               const std::shared_ptr<const HessianPattern>& pattern,
                                               const std::vector<Index>& hyper_parameters,
                                               std::uint64_t seed) {
  ConditionalFit fit(evaluator, pattern, hyper_parameters, conditional_differences(q), seed);
  return HyperModeSearch(fit).run(q.mean());
}

}  // namespace magva
