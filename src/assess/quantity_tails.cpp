#include "assess/quantity_tails.hpp"

#include <algorithm>
#include <cmath>

#include "assess/laplace_marginal.hpp"

namespace magva {

namespace {

/// Draws of the approximation that say what is a quantity's usual size: for a first look, and after it.
constexpr Index kFewestTailDraws = 400;
constexpr Index kTailDraws = 4000;
constexpr Index kMostTailNumbers = 20'000'000;
/// The tail begins at so many sds of a coordinate: a few thousand draws of a Gaussian do not go there.
constexpr double kTailBegins = 4;
/// A coordinate is followed if, so many sds out on its line of conditional means, a quantity's square is
/// larger by this factor, as a logarithm, than the coordinate's own: less than that a tail without a part in
/// the coordinate's variance cannot make up for.
constexpr double kStretchedAt = 12;
constexpr double kStretched = 4;
/// A tail counts if it has so much more of the variance than the approximation's has, and if the sd is off by
/// this, as a logarithm: twice what is in doubt, since Laplace's method has no draws to correct it, and draws
/// know the approximation's own sd only roughly.
constexpr double kTailShare = .25;
constexpr double kTailDoubt = 2 * kDoubt;
/// An sd that is larger by more is that of a tail without an end.
constexpr double kNoSd = 20;

/// Where the approximation has the quantities, and how much of their variance is in its own tails.
struct OwnQuantities {
  Vector mean, variance;
  Matrix theta;
  Matrix square;  // of each deviation, one column per draw

  OwnQuantities(const Posterior& approximation, const Quantities& quantities, Index draws,
                std::uint64_t seed) {
    theta = approximation.draws(draws, seed);
    const Matrix values = quantities.at(theta);
    mean = values.rowwise().mean();
    square = (values.colwise() - mean).cwiseAbs2();
    variance = square.rowwise().mean();
  }

  /// In units of the variance; 0 where that says nothing.
  Vector squares(ConstVectorRef values) const {
    Vector out = (values - mean).cwiseAbs2().cwiseQuotient(variance);
    for (Index k = 0; k < out.size(); ++k)
      if (!(variance(k) > 0) || !std::isfinite(variance(k)) || std::isnan(out(k))) out(k) = 0;
    return out;
  }

  /// Of every quantity, the share that draws have beyond the tail's beginning along a coordinate.
  Vector tail_share(const Gaussian& q, Index i) const {
    const double sd = q.sd()(i);
    Vector tail = Vector::Zero(mean.size());
    for (Index s = 0; s < theta.cols(); ++s)
      if (std::abs(theta(i, s) - q.mean()(i)) > kTailBegins * sd) tail += square.col(s);
    return tail / static_cast<double>(theta.cols());
  }
};

/// How much more the quantity that grows most counts, far out on a line, than the coordinate does.
double stretch_along(const Gaussian& q, const Quantities& quantities, const OwnQuantities& own, Index i) {
  Vector direction = q.covariance_row(i);
  direction /= std::sqrt(direction(i));
  Matrix theta(q.dimension(), 2);
  theta.col(0) = q.mean() + kStretchedAt * direction;
  theta.col(1) = q.mean() - kStretchedAt * direction;
  const Matrix values = quantities.at(theta);
  const double largest =
      std::max(own.squares(values.col(0)).maxCoeff(), own.squares(values.col(1)).maxCoeff());
  return std::log(largest) - 2 * std::log(kStretchedAt);
}

/// The coordinates to follow, those along which quantities grow most first.
std::vector<Index> stretched_coordinates(const Gaussian& q, const Quantities& quantities,
                                         const OwnQuantities& own) {
  std::vector<std::pair<double, Index>> found;
  for (Index i = 0; i < q.dimension(); ++i) {
    const double stretch = stretch_along(q, quantities, own, i);
    if (stretch > kStretched) found.emplace_back(stretch, i);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Index> out;
  for (const auto& each : found) out.push_back(each.second);
  return out;
}

/// Of every quantity's variance, in units of the approximation's, by a path: in its middle, and beyond.
struct VarianceParts {
  Vector middle, tail;
};

VarianceParts variance_along(const ModePath& path, const Quantities& quantities, const OwnQuantities& own) {
  const Matrix values = quantities.at(path.theta);
  const Vector density = (path.log_density.array() - path.log_density.maxCoeff()).exp();
  VarianceParts out{Vector::Zero(values.rows()), Vector::Zero(values.rows())};
  double mass = 0;
  for (Index k = 1; k < path.z.size(); ++k) {
    const double half = .5 * (path.z(k) - path.z(k - 1));
    const double middle = .5 * (path.z(k) + path.z(k - 1));
    mass += half * (density(k) + density(k - 1));
    (std::abs(middle) > kTailBegins ? out.tail : out.middle) +=
        half * (density(k) * own.squares(values.col(k)) + density(k - 1) * own.squares(values.col(k - 1)));
  }
  out.middle /= mass;
  out.tail /= mass;
  return out;
}

}  // namespace

std::vector<Doubt> find_long_tails(Evaluator& evaluator, const Gaussian& approximation,
                                   const Quantities& quantities, const TailOptions& options) {
  const Gaussian& q = approximation.corrected();
  const auto count = static_cast<Index>(quantities.names.size());
  const std::vector<Index> stretched = stretched_coordinates(
      q, quantities, OwnQuantities(approximation.best(), quantities, kFewestTailDraws, options.seed));
  if (stretched.empty()) return {};
  const Index draws = std::clamp(kMostTailNumbers / count, kFewestTailDraws, kTailDraws);
  const OwnQuantities own(approximation.best(), quantities, draws, options.seed);
  const auto log_part = [&](ConstVectorRef theta) {
    return std::log(std::max(1., own.squares(quantities.at(theta).col(0)).maxCoeff()));
  };
  Vector ratio = Vector::Ones(own.mean.size());
  const std::int64_t begin = evaluator.evaluations();
  for (const Index i : stretched) {
    if (evaluator.evaluations() - begin + laplace_marginal_cost(q.dimension()) > options.gradients) break;
    const auto path = conditional_modes(evaluator, q, i, log_part);
    if (!path) continue;
    const VarianceParts parts = variance_along(*path, quantities, own);
    const Vector own_share = own.tail_share(q, i).cwiseQuotient(own.variance);
    for (Index k = 0; k < ratio.size(); ++k) {
      const double variance = std::max(parts.middle(k), 1 - own_share(k)) + parts.tail(k);
      if (parts.tail(k) / variance - own_share(k) > kTailShare && .5 * std::log(variance) > kTailDoubt)
        ratio(k) = std::max(ratio(k), std::min(kNoSd, std::sqrt(variance)));
    }
  }
  std::vector<Doubt> out;
  for (Index k = 0; k < ratio.size(); ++k)
    if (ratio(k) > 1) out.push_back({quantities.names[static_cast<std::size_t>(k)], 0, ratio(k)});
  std::stable_sort(out.begin(), out.end(),
                   [](const Doubt& a, const Doubt& b) { return a.sd_ratio > b.sd_ratio; });
  return out;
}

}  // namespace magva
