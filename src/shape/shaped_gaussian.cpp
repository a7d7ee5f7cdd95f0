#include "shape/shaped_gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "magva/error.hpp"
#include "posterior/save.hpp"

namespace magva {

namespace {

/// Pairs of draws behind moments and quantiles, so many that their products with an m x m matrix take
/// moments: the error of an sd is about .005 of it for small m.
constexpr Index kMostSummaryPairs = 10'000;
constexpr Index kFewestSummaryPairs = 1'000;
constexpr double kMostSummaryProducts = 4e8;
constexpr std::uint64_t kSummarySeed = 1;

Index summary_pairs(Index m) {
  const double size = static_cast<double>(m) * static_cast<double>(m);
  return std::clamp(static_cast<Index>(kMostSummaryProducts / size), kFewestSummaryPairs, kMostSummaryPairs);
}

double sorted_quantile(const std::vector<double>& sorted, double probability) {
  const double position = probability * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

ShapedGaussian::ShapedGaussian(Gaussian base, ShapeMap map, Vector mean, Matrix covariance)
    : base_(std::move(base)),
      map_(std::move(map)),
      mean_(std::move(mean)),
      covariance_(std::move(covariance)) {}

ShapedGaussian::ShapedGaussian(Gaussian base, ShapeMap map)
    : ShapedGaussian(std::move(base), std::move(map), Vector(), Matrix()) {
  if (base_.dimension() != map_.dimension()) throw UsageError("a shape has the dimension of its Gaussian");
  const Matrix theta = summary_draws();
  mean_ = theta.rowwise().mean();
  const Matrix deviation = theta.colwise() - mean_;
  covariance_ = deviation * deviation.transpose() / static_cast<double>(theta.cols());
}

// In coordinates that are rescaled, too, all layers stay what they are.
std::shared_ptr<const Posterior> ShapedGaussian::rescaled(ConstVectorRef centre, ConstVectorRef scale) const {
  ShapeMap map = map_;
  for (ShapeStage& stage : map.stages()) {
    stage.centre = centre + scale.cwiseProduct(stage.centre);
    stage.root = scale.asDiagonal() * stage.root;
  }
  return std::make_shared<const ShapedGaussian>(base_.transformed(centre, scale), std::move(map));
}

// Draw by draw: a blocked product would round differently for another count.
Matrix ShapedGaussian::map_columns(const Matrix& z) const {
  Matrix theta(z.rows(), z.cols());
  for (Index j = 0; j < z.cols(); ++j) theta.col(j) = map_.forward(z.col(j)).theta;
  return theta;
}

Matrix ShapedGaussian::draws(Index count, std::uint64_t seed, std::uint32_t first) const {
  return map_columns(base_.draws(count, seed, first));
}

Matrix ShapedGaussian::antithetic_draws(Index pairs, std::uint64_t seed) const {
  return map_columns(base_.antithetic_draws(pairs, seed));
}

Matrix ShapedGaussian::summary_draws() const {
  return map_.forward(base_.antithetic_draws(summary_pairs(dimension()), kSummarySeed)).theta;
}

Vector ShapedGaussian::log_density(ConstMatrixRef theta) const {
  if (theta.rows() != dimension()) throw UsageError("the points have another dimension than the posterior");
  const Matrix z = map_.invert(theta);
  return base_.log_density(z) - map_.forward(z).log_det;
}

Vector ShapedGaussian::covariance_row(Index i) const {
  if (i < 0 || i >= dimension()) throw UsageError("there is no such parameter");
  return covariance_.col(i);
}

Matrix ShapedGaussian::quantiles(ConstVectorRef probabilities) const {
  const Matrix theta = summary_draws();
  Matrix out(dimension(), probabilities.size());
  for (Index i = 0; i < dimension(); ++i) {
    std::vector<double> values(static_cast<std::size_t>(theta.cols()));
    for (Index s = 0; s < theta.cols(); ++s) values[static_cast<std::size_t>(s)] = theta(i, s);
    std::sort(values.begin(), values.end());
    for (Index k = 0; k < probabilities.size(); ++k) out(i, k) = sorted_quantile(values, probabilities(k));
  }
  return out;
}

void ShapedGaussian::write(io::ChecksummedWriter& out) const {
  write_gaussian(out, base_);
  out.matrix(mean_);
  out.matrix(covariance_);
  map_.write(out);
}

std::shared_ptr<const ShapedGaussian> ShapedGaussian::read(io::ChecksummedReader& in, Index dimension) {
  Gaussian base = read_gaussian(in);
  Vector mean = in.matrix().reshaped();
  Matrix covariance = in.matrix();
  if (base.dimension() != dimension || mean.size() != dimension || covariance.rows() != dimension ||
      covariance.cols() != dimension)
    in.fail("its parts do not fit each other");
  ShapeMap map = ShapeMap::read(in, dimension);
  return std::shared_ptr<const ShapedGaussian>(
      new ShapedGaussian(std::move(base), std::move(map), std::move(mean), std::move(covariance)));
}

}  // namespace magva
