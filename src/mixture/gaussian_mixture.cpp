#include "mixture/gaussian_mixture.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/checksummed_file.hpp"
#include "core/noise.hpp"
#include "magva/error.hpp"
#include "posterior/normal_quantile.hpp"
#include "posterior/save.hpp"

namespace magva {

namespace {

/// Of a marginal's quantile, in sds; steps to it, at most.
constexpr double kQuantileError = 1e-10;
constexpr int kMostQuantileSteps = 200;

/// Numbers of points that go through all components together: they stay in a cache.
constexpr Index kBlockNumbers = 1 << 16;

double normal_below(double z) { return .5 * std::erfc(-z / std::numbers::sqrt2); }

}  // namespace

GaussianMixture::GaussianMixture(std::vector<Gaussian> components, Vector weights)
    : components_(std::move(components)), weights_(std::move(weights)) {
  const auto count = static_cast<Index>(components_.size());
  if (count == 0 || weights_.size() != count || !(weights_.array() > 0).all() || !weights_.allFinite())
    throw UsageError("a mixture needs components, and a positive weight for each");
  weights_ /= weights_.sum();
  const Index m = components_.front().dimension();
  means_.resize(m, count);
  sds_.resize(m, count);
  for (Index k = 0; k < count; ++k) {
    const Gaussian& component = components_[static_cast<std::size_t>(k)];
    if (component.dimension() != m) throw UsageError("the components of a mixture have one dimension");
    means_.col(k) = component.mean();
    sds_.col(k) = component.sd();
  }
  mean_ = means_ * weights_;
  sd_ = ((sds_.cwiseAbs2() + (means_.colwise() - mean_).cwiseAbs2()) * weights_).cwiseSqrt();
}

std::shared_ptr<const Posterior> GaussianMixture::rescaled(ConstVectorRef centre,
                                                           ConstVectorRef scale) const {
  std::vector<Gaussian> components;
  for (const Gaussian& component : components_) components.push_back(component.transformed(centre, scale));
  return std::make_shared<const GaussianMixture>(std::move(components), weights_);
}

Vector GaussianMixture::covariance_row(Index i) const {
  if (i < 0 || i >= dimension()) throw UsageError("there is no such parameter");
  Vector out = Vector::Zero(dimension());
  for (Index k = 0; k < weights_.size(); ++k) {
    const Vector apart = means_.col(k) - mean_;
    out += weights_(k) * (components_[static_cast<std::size_t>(k)].covariance_row(i) + apart(i) * apart);
  }
  return out;
}

// Newton's method on the distribution function, between bounds.
double GaussianMixture::quantile(Index coordinate, double probability) const {
  const double z = normal_quantile(probability);
  const auto means = means_.row(coordinate);
  const auto sds = sds_.row(coordinate);
  double lower = (means + z * sds).minCoeff();
  double upper = (means + z * sds).maxCoeff();
  double x = std::clamp(mean_(coordinate) + z * sd_(coordinate), lower, upper);
  for (int k = 0; k < kMostQuantileSteps && upper - lower > kQuantileError * sd_(coordinate); ++k) {
    double excess = -probability;
    double density = 0;
    for (Index c = 0; c < weights_.size(); ++c) {
      const double at = (x - means(c)) / sds(c);
      excess += weights_(c) * normal_below(at);
      density += weights_(c) * std::exp(-.5 * at * at) / (sds(c) * std::sqrt(2 * std::numbers::pi));
    }
    (excess > 0 ? upper : lower) = x;
    const double next = x - excess / density;
    if (std::abs(next - x) < kQuantileError * sd_(coordinate)) return next;
    x = next > lower && next < upper ? next : .5 * (lower + upper);
  }
  return x;
}

Matrix GaussianMixture::quantiles(ConstVectorRef probabilities) const {
  Matrix out(dimension(), probabilities.size());
  for (Index k = 0; k < probabilities.size(); ++k)
    for (Index i = 0; i < dimension(); ++i)
      out(i, k) = probabilities(k) > 0 && probabilities(k) < 1
                      ? quantile(i, probabilities(k))
                      : normal_quantile(probabilities(k)) * sd_(i) + mean_(i);
  return out;
}

// The first number of a draw's noise chooses its component.
GaussianMixture::Deviations GaussianMixture::deviations(Index count, std::uint64_t seed,
                                                        std::uint32_t first) const {
  Index size = 0;
  for (const Gaussian& component : components_) size = std::max(size, component.noise_size());
  Matrix noise(size + 1, count);
  Noise(seed, NoiseStream::kPosteriorDraws).fill(0, first, noise);
  Deviations out{std::vector<Index>(static_cast<std::size_t>(count)), Matrix(dimension(), count)};
  for (Index j = 0; j < count; ++j) {
    double left = normal_below(noise(0, j));
    Index chosen = 0;
    while (chosen + 1 < weights_.size() && left >= weights_(chosen)) left -= weights_(chosen++);
    out.component[static_cast<std::size_t>(j)] = chosen;
    const Gaussian& component = components_[static_cast<std::size_t>(chosen)];
    out.of_theta.col(j) = component.deviations(noise.col(j).segment(1, component.noise_size()));
  }
  return out;
}

Matrix GaussianMixture::centres(const std::vector<Index>& component) const {
  return means_(Eigen::all, component);
}

Matrix GaussianMixture::draws(Index count, std::uint64_t seed, std::uint32_t first) const {
  const Deviations drawn = deviations(count, seed, first);
  return centres(drawn.component) + drawn.of_theta;
}

Matrix GaussianMixture::antithetic_draws(Index pairs, std::uint64_t seed) const {
  const Deviations drawn = deviations(pairs, seed, 0);
  const Matrix centre = centres(drawn.component);
  Matrix out(dimension(), 2 * pairs);
  out.leftCols(pairs) = centre + drawn.of_theta;
  out.rightCols(pairs) = centre - drawn.of_theta;
  return out;
}

Matrix GaussianMixture::log_parts(ConstMatrixRef theta) const {
  Matrix out(theta.cols(), weights_.size());
  const Index block = std::max<Index>(1, kBlockNumbers / dimension());
  for (Index first = 0; first < theta.cols(); first += block) {
    const Index count = std::min(block, theta.cols() - first);
    for (Index k = 0; k < weights_.size(); ++k)
      out.col(k).segment(first, count) =
          components_[static_cast<std::size_t>(k)].log_density(theta.middleCols(first, count)).array() +
          std::log(weights_(k));
  }
  return out;
}

Vector GaussianMixture::log_sum(const Matrix& log_parts) {
  const Vector highest = log_parts.rowwise().maxCoeff();
  return highest.array() + (log_parts.colwise() - highest).array().exp().rowwise().sum().log();
}

Vector GaussianMixture::log_density(ConstMatrixRef theta) const { return log_sum(log_parts(theta)); }

void GaussianMixture::write(io::ChecksummedWriter& out) const {
  out.matrix(weights_);
  for (const Gaussian& component : components_) write_gaussian(out, component);
}

std::shared_ptr<const GaussianMixture> GaussianMixture::read(io::ChecksummedReader& in, Index dimension) {
  const Vector weights = in.matrix().reshaped();
  std::vector<Gaussian> components;
  for (Index k = 0; k < weights.size(); ++k) {
    components.push_back(read_gaussian(in));
    if (components.back().dimension() != dimension) in.fail("its parts do not fit each other");
  }
  if (weights.size() == 0 || !weights.allFinite() || !(weights.array() > 0).all())
    in.fail("its parts do not fit each other");
  return std::make_shared<const GaussianMixture>(std::move(components), weights);
}

}  // namespace magva
