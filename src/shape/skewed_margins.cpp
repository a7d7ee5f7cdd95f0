#include "shape/skewed_margins.hpp"

#include <algorithm>
#include <cmath>

#include "shape/sinh_arcsinh.hpp"

namespace magva {

namespace {

/// Points of a standard normal density at which a margin is integrated.
constexpr Index kMarginPoints = 401;
constexpr double kMarginReach = 9;
constexpr int kMarginBisections = 40;
/// The skewness and the tail of a transform (sinh_arcsinh.hpp) on its way from none to the most.
constexpr double kMostSkew = 2;
constexpr double kMostTail = .5;

/// Moments of f(z) with a standard normal z.
struct MarginMoments {
  double mean, sd, skewness;
};

/// Half of the way bends the line, the other half makes the tails longer, too.
Eigen::RowVector4d transform_at(double way) {
  const double size = std::abs(way);
  return {std::copysign(kMostSkew * std::min(1., 2 * size), way), kMostTail * std::max(0., 2 * size - 1), 0,
          0};
}

MarginMoments moments_of(const Eigen::RowVector4d& transform) {
  const Vector z = Vector::LinSpaced(kMarginPoints, -kMarginReach, kMarginReach);
  Eigen::ArrayXd weight = (-.5 * z.array().square()).exp();
  weight /= weight.sum();
  Matrix y = z.transpose();
  Vector log_det = Vector::Zero(kMarginPoints);
  SinhArcsinh(Matrix(transform)).forward(y, log_det);
  const Eigen::ArrayXd values = y.row(0).transpose().array();
  const double mean = (weight * values).sum();
  const double sd = std::sqrt((weight * (values - mean).square()).sum());
  return {mean, sd, (weight * ((values - mean) / sd).cube()).sum()};
}

/// The skewness grows all of the way.
double way_to(double skewness) {
  double low = -1, high = 1;
  for (int k = 0; k < kMarginBisections; ++k) {
    const double middle = .5 * (low + high);
    (moments_of(transform_at(middle)).skewness < skewness ? low : high) = middle;
  }
  return .5 * (low + high);
}

}  // namespace

std::shared_ptr<const ShapedGaussian> with_margins(const Gaussian& copula, const Margins& margins) {
  const Index m = copula.dimension();
  Matrix transforms = Matrix::Zero(m, 4);
  Vector centre = margins.mean, scale = margins.sd;
  for (Index i = 0; i < m; ++i) {
    if (margins.skewness(i) == 0) continue;
    transforms.row(i) = transform_at(way_to(margins.skewness(i)));
    const MarginMoments found = moments_of(transforms.row(i));
    scale(i) /= found.sd;
    centre(i) -= scale(i) * found.mean;
  }
  const Vector ratio = scale.cwiseQuotient(copula.sd());
  return std::make_shared<const ShapedGaussian>(
      copula.without_correction().transformed(centre - ratio.cwiseProduct(copula.mean()), ratio),
      ShapeMap::of_margins(centre, scale, std::make_unique<SinhArcsinh>(transforms)));
}

}  // namespace magva
