#include "shape/skewed_margins.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "posterior/normal_quantile.hpp"
#include "shape/sinh_arcsinh.hpp"

namespace magva {

namespace {

/// Points of a standard normal density at which a margin is integrated; the rule of equal steps is exact to
/// rounding there.
constexpr Index kMarginPoints = 101;
constexpr double kMarginReach = 8;
/// Quantiles of the draws by which margins are chosen.
constexpr Index kMarginQuantiles = 200;
/// Skewness and tail are searched for by steps from the first down to the last.
constexpr double kFirstBend = .5;
constexpr double kLastBend = .02;
/// Parts of the draws, each of whole chains, that are left out in turn; the first step then.
constexpr std::size_t kFolds = 4;
constexpr double kFoldBend = .16;

using Bend = Eigen::RowVector2d;

struct BendRange {
  Bend least, most;
};
/// The transform has one tail for both sides. Where a logarithm has a long lower one, as that of a scale has,
/// an upper one like it would leave the scale itself without moments: long tails are those of margins that
/// have them on both sides alike.
const BendRange kSkewedRange{{-2, -.7}, {2, 0}};
const BendRange kLongTailedRange{{0, 0}, {0, .7}};

Vector bent(const Bend& bend, const Vector& z) {
  Matrix y = z.transpose();
  Vector log_det = Vector::Zero(z.size());
  SinhArcsinh(Matrix(Eigen::RowVector4d(bend(0), bend(1), 0, 0))).forward(y, log_det);
  return y.row(0).transpose();
}

struct MarginMoments {
  double mean, sd;
};

/// Of a transform of a standard normal variate.
MarginMoments moments_of(const Bend& bend) {
  const Vector z = Vector::LinSpaced(kMarginPoints, -kMarginReach, kMarginReach);
  Eigen::ArrayXd weight = (-.5 * z.array().square()).exp();
  weight /= weight.sum();
  const Eigen::ArrayXd values = bent(bend, z).array();
  const double mean = (weight * values).sum();
  return {mean, std::sqrt((weight * (values - mean).square()).sum())};
}

Vector standardised(const Vector& values) {
  const Vector centred = values.array() - values.mean();
  return centred / centred.norm();
}

/// The means of so many equal parts of sorted values, standardised.
Vector quantiles_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<Index>(values.size());
  Vector out(kMarginQuantiles);
  for (Index k = 0; k < kMarginQuantiles; ++k) {
    const Index first = k * count / kMarginQuantiles;
    const Index last = std::max(first + 1, (k + 1) * count / kMarginQuantiles);
    out(k) = std::accumulate(values.begin() + first, values.begin() + last, 0.) /
             static_cast<double>(last - first);
  }
  return standardised(out);
}

/// The means of as many equal parts of a standard normal density.
Vector normal_parts() {
  Vector edge_density = Vector::Zero(kMarginQuantiles + 1);
  for (Index k = 1; k < kMarginQuantiles; ++k) {
    const double edge = normal_quantile(static_cast<double>(k) / kMarginQuantiles);
    edge_density(k) = std::exp(-.5 * edge * edge) / std::sqrt(2 * std::numbers::pi);
  }
  return static_cast<double>(kMarginQuantiles) *
         (edge_density.head(kMarginQuantiles) - edge_density.tail(kMarginQuantiles));
}

/// The correlation of a probability plot (Filliben 1975). The largest one is that of the margin with the
/// least Wasserstein distance.
double plot_correlation(const Bend& bend, const Vector& quantiles) {
  static const Vector normal = normal_parts();
  return standardised(bent(bend, normal)).dot(quantiles);
}

/// Steps along both axes, halved where none is better.
Bend best_bend(const Vector& quantiles, const BendRange& range, const Bend& from, double first_step) {
  Bend best = from.cwiseMax(range.least).cwiseMin(range.most);
  double highest = plot_correlation(best, quantiles);
  for (double step = first_step; step >= kLastBend;) {
    bool better = false;
    for (const Index axis : {0, 1})
      for (const double sign : {-1., 1.}) {
        Bend there = best;
        there(axis) = std::clamp(there(axis) + sign * step, range.least(axis), range.most(axis));
        const double found = plot_correlation(there, quantiles);
        if (!(found > highest)) continue;
        best = there;
        highest = found;
        better = true;
      }
    if (!better) step /= 2;
  }
  return best;
}

Bend best_bend(const Vector& quantiles, const Bend& from, double first_step) {
  const Bend skewed = best_bend(quantiles, kSkewedRange, from, first_step);
  const Bend long_tailed = best_bend(quantiles, kLongTailedRange, from, first_step);
  return plot_correlation(long_tailed, quantiles) > plot_correlation(skewed, quantiles) ? long_tailed
                                                                                        : skewed;
}

/// How much nearer margins are to parts of the values than a normal margin is, if they are chosen by the
/// rest.
double gain_by_cross_validation(const std::vector<double>& values, const Bend& by_all) {
  double gain = 0;
  for (std::size_t k = 0; k < kFolds; ++k) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(k * values.size() / kFolds);
    const auto last = values.begin() + static_cast<std::ptrdiff_t>((k + 1) * values.size() / kFolds);
    std::vector<double> rest(values.begin(), first);
    rest.insert(rest.end(), last, values.end());
    const Vector left_out = quantiles_of({first, last});
    gain += plot_correlation(best_bend(quantiles_of(std::move(rest)), by_all, kFoldBend), left_out) -
            plot_correlation(Bend::Zero(), left_out);
  }
  return gain;
}

}  // namespace

Matrix bends_of(const Matrix& draws) {
  Matrix out = Matrix::Zero(draws.rows(), 2);
  for (Index i = 0; i < draws.rows(); ++i) {
    const Vector row = draws.row(i).transpose();
    const std::vector<double> values(row.begin(), row.end());
    const Bend bend = best_bend(quantiles_of(values), Bend::Zero(), kFirstBend);
    if (gain_by_cross_validation(values, bend) > 0) out.row(i) = bend;
  }
  return out;
}

std::shared_ptr<const ShapedGaussian> with_margins(const Gaussian& copula, const Margins& margins) {
  const Index m = copula.dimension();
  Matrix transforms = Matrix::Zero(m, 4);
  transforms.leftCols(2) = margins.bends;
  Vector centre = margins.mean, scale = margins.sd;
  for (Index i = 0; i < m; ++i) {
    if (margins.bends.row(i).isZero(0)) continue;
    const MarginMoments found = moments_of(margins.bends.row(i));
    scale(i) /= found.sd;
    centre(i) -= scale(i) * found.mean;
  }
  const Vector ratio = scale.cwiseQuotient(copula.sd());
  return std::make_shared<const ShapedGaussian>(
      copula.without_correction().transformed(centre - ratio.cwiseProduct(copula.mean()), ratio),
      ShapeMap::of_margins(centre, scale, std::make_unique<SinhArcsinh>(transforms)));
}

}  // namespace magva
