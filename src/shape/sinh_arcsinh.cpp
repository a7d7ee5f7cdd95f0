#include "shape/sinh_arcsinh.hpp"

#include <array>
#include <cmath>
#include <numbers>

namespace magva {

namespace {

constexpr Index kParameters = 4;
/// Far beyond what the margins of posteriors need: transforms and inverses stay within double precision.
constexpr double kLeastParameter[kParameters] = {-3, -2, -5, -2};
constexpr double kMostParameter[kParameters] = {3, 1, 5, 2};

double log_cosh(double x) {
  const double size = std::abs(x);
  return size + std::log1p(std::exp(-2 * size)) - std::numbers::ln2;
}

}  // namespace

struct SinhArcsinh::Transform {
  double skew;
  double power;  // exp(t)
  double unit;   // the slope of sinh(power asinh u + skew) at 0
  double centre;
  double width;  // exp(w)

  double argument(double u) const { return power * std::asinh(u) + skew; }
  double bend(double u) const { return (std::sinh(argument(u)) - std::sinh(skew)) / unit; }
  double inside(double x) const { return (x - centre) / width; }

  double operator()(double x) const { return centre + width * bend(inside(x)); }
  double inverse(double y) const {
    const double bent = inside(y) * unit + std::sinh(skew);
    return centre + width * std::sinh((std::asinh(bent) - skew) / power);
  }
  double log_slope(double x) const {
    const double u = inside(x);
    return log_cosh(argument(u)) - log_cosh(skew) - std::log(std::hypot(1, u));
  }
  double slope(double x) const { return std::exp(log_slope(x)); }
  /// d log slope / dx
  double log_slope_gradient(double x) const {
    const double u = inside(x);
    return (std::tanh(argument(u)) * power / std::hypot(1, u) - u / (1 + u * u)) / width;
  }
  /// dy / dparameter: s, t, c, w.
  std::array<double, kParameters> gradient(double x) const {
    const double u = inside(x);
    const double cosh = std::cosh(argument(u));
    const double bent = bend(u);
    const double slope_here = slope(x);
    return {width * ((cosh - std::cosh(skew)) / unit - bent * std::tanh(skew)),
            width * (cosh * power * std::asinh(u) / unit - bent), 1 - slope_here,
            width * (bent - u * slope_here)};
  }
};

SinhArcsinh::Transform SinhArcsinh::transform(Index i) const {
  const double skew = parameter(0, i);
  const double power = std::exp(parameter(1, i));
  return {skew, power, std::cosh(skew) * power, parameter(2, i), std::exp(parameter(3, i))};
}

SinhArcsinh::SinhArcsinh(Index dimension) : SinhArcsinh(Matrix::Zero(dimension, kParameters)) {}

SinhArcsinh::SinhArcsinh(const Matrix& parameters) {
  for (Index k = 0; k < kParameters; ++k)
    parameters_.push_back({ManifoldKind::kEuclidean, parameters.col(k), Matrix::Zero(parameters.rows(), 1)});
}

void SinhArcsinh::forward(MatrixRef x, VectorRef log_det) const {
  for (Index i = 0; i < x.rows(); ++i) {
    const Transform f = transform(i);
    for (Index s = 0; s < x.cols(); ++s) {
      log_det(s) += f.log_slope(x(i, s));
      x(i, s) = f(x(i, s));
    }
  }
}

void SinhArcsinh::invert(MatrixRef y) const {
  for (Index i = 0; i < y.rows(); ++i) {
    const Transform f = transform(i);
    for (Index s = 0; s < y.cols(); ++s) y(i, s) = f.inverse(y(i, s));
  }
}

void SinhArcsinh::pull_back(ConstMatrixRef x, MatrixRef v) const {
  for (Index i = 0; i < x.rows(); ++i) {
    const Transform f = transform(i);
    for (Index s = 0; s < x.cols(); ++s) v(i, s) *= f.slope(x(i, s));
  }
}

void SinhArcsinh::push_forward(ConstMatrixRef x, MatrixRef v) const {
  for (Index i = 0; i < x.rows(); ++i) {
    const Transform f = transform(i);
    for (Index s = 0; s < x.cols(); ++s) v(i, s) /= f.slope(x(i, s));
  }
}

void SinhArcsinh::add_log_det_gradient(ConstMatrixRef x, double factor, MatrixRef v) const {
  for (Index i = 0; i < x.rows(); ++i) {
    const Transform f = transform(i);
    for (Index s = 0; s < x.cols(); ++s) v(i, s) += factor * f.log_slope_gradient(x(i, s));
  }
}

void SinhArcsinh::set_gradients(ConstMatrixRef x, ConstMatrixRef v) {
  for (Index i = 0; i < x.rows(); ++i) {
    const Transform f = transform(i);
    std::array<double, kParameters> sums{};
    for (Index s = 0; s < x.cols(); ++s) {
      const auto gradient = f.gradient(x(i, s));
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += v(i, s) * gradient[k];
    }
    for (std::size_t k = 0; k < sums.size(); ++k) parameters_[k].gradient(i) = sums[k];
  }
}

void SinhArcsinh::constrain() {
  for (std::size_t k = 0; k < parameters_.size(); ++k)
    parameters_[k].value = parameters_[k].value.cwiseMax(kLeastParameter[k]).cwiseMin(kMostParameter[k]);
}

void SinhArcsinh::write(io::ChecksummedWriter& out) const {
  Matrix all(dimension(), kParameters);
  for (Index k = 0; k < kParameters; ++k) all.col(k) = parameters_[static_cast<std::size_t>(k)].value;
  out.text("sinh-arcsinh");
  out.matrix(all);
}

std::unique_ptr<Layer> SinhArcsinh::read(io::ChecksummedReader& in, Index dimension) {
  const Matrix parameters = in.matrix();
  if (parameters.rows() != dimension || parameters.cols() != kParameters || !parameters.allFinite())
    in.fail("its parts do not fit each other");
  auto layer = std::make_unique<SinhArcsinh>(parameters);
  layer->constrain();
  return layer;
}

}  // namespace magva
