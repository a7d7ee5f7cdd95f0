#include "response/gradient_sample.hpp"

#include <algorithm>

#include "response/balanced_noise.hpp"

namespace magva {

namespace {

/// Pairs that are evaluated together.
constexpr Index kPairsTogether = 128;

/// Expected squared norm of the noise in the symmetric mean of odd z', from what the regression leaves.
double slope_noise(const GradientSample& sample) {
  const auto pairs = static_cast<double>(sample.pairs());
  const auto free = static_cast<double>(sample.pairs() - sample.dimension());
  const auto along = sample.residual.cwiseProduct(sample.noise).colwise().sum();
  const auto lengths =
      sample.residual.colwise().squaredNorm().cwiseProduct(sample.noise.colwise().squaredNorm());
  return .5 * (lengths + along.cwiseAbs2()).sum() / (pairs * free);
}

}  // namespace

std::optional<GradientSample> sample_gradients(Evaluator& evaluator, const RootedGaussian& at, Index pairs,
                                               std::uint64_t seed) {
  const Index m = at.mean.size();
  GradientSample out{balanced_noise(m, pairs, seed), Matrix(m, pairs), Matrix(m, pairs), {}, 1, {}};
  for (Index first = 0; first < pairs; first += kPairsTogether) {
    const Index count = std::min(kPairsTogether, pairs - first);
    Matrix theta(m, 2 * count);
    theta.leftCols(count) = at.root.triangularView<Eigen::Lower>() * out.noise.middleCols(first, count);
    theta.rightCols(count) = -theta.leftCols(count);
    theta.colwise() += at.mean;
    Vector log_density(theta.cols());
    Matrix gradient(m, theta.cols());
    evaluator.evaluate(theta, log_density, gradient);
    if (!log_density.allFinite()) return std::nullopt;
    const Matrix white = at.root.transpose() * gradient;
    out.residual.middleCols(first, count) = .5 * (white.leftCols(count) - white.rightCols(count));
    out.even.middleCols(first, count) = .5 * (white.leftCols(count) + white.rightCols(count));
  }
  out.gradient = out.even.rowwise().mean();
  out.even.colwise() -= out.gradient;
  const Matrix slope = out.residual * out.noise.transpose() / static_cast<double>(pairs);
  out.residual -= slope * out.noise;
  out.excess = Matrix::Identity(m, m) + .5 * (slope + slope.transpose());
  const double size = out.excess.squaredNorm();
  out.share = size > 0 ? std::max(0., 1 - slope_noise(out) / size) : 1;
  out.excess *= out.share;
  return out;
}

}  // namespace magva
