#include "response/gradient_sample.hpp"

#include <algorithm>

#include "response/balanced_noise.hpp"

namespace magva {

namespace {

/// Pairs that are evaluated together.
constexpr Index kPairsTogether = 128;

/// Share of a squared size that is more than noise.
double share_of(double size, double noise) { return size > noise ? 1 - noise / size : 0; }

/// Expected squares of the noise in the symmetric mean of odd z', from what the regression leaves.
void find_shares(GradientSample& sample) {
  const double scale =
      static_cast<double>(sample.pairs()) * static_cast<double>(sample.pairs() - sample.dimension());
  const Matrix products = sample.residual.cwiseProduct(sample.noise);
  const double along = products.colwise().sum().squaredNorm();
  const double all = sample.residual.colwise().squaredNorm().dot(sample.noise.colwise().squaredNorm());
  const double diagonal_noise = products.squaredNorm() / scale;
  const double other_noise = .5 * (all + along) / scale - diagonal_noise;
  const Vector diagonal = sample.excess.diagonal();
  const double deviation = (diagonal.array() - diagonal.mean()).square().sum();
  sample.diagonal_share = share_of(deviation, diagonal_noise);
  sample.other_share = share_of(sample.excess.squaredNorm() - diagonal.squaredNorm(), other_noise);
  sample.excess_noise = diagonal_noise + other_noise;
}

}  // namespace

Matrix GradientSample::shrunk_excess(double most) const {
  const Vector diagonal = excess.diagonal();
  const double mean = diagonal.mean();
  Matrix out = std::min(most, other_share) * excess;
  out.diagonal() = std::min(most, 1.) * mean + std::min(most, diagonal_share) * (diagonal.array() - mean);
  return out;
}

double GradientSample::noise_nats() const {
  const auto n = static_cast<double>(pairs());
  return .25 * excess_noise + .5 * even.squaredNorm() / (n * (n - 1));
}

std::optional<GradientSample> sample_gradients(Evaluator& evaluator, const RootedGaussian& at, Index pairs,
                                               std::uint64_t seed) {
  const Index m = at.mean.size();
  GradientSample out{balanced_noise(m, pairs, seed), Matrix(m, pairs), Matrix(m, pairs), {}, 0, 0, {}, 0};
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
  find_shares(out);
  return out;
}

}  // namespace magva
