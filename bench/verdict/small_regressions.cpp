// Regressions of two or three parameters with few rows, whose truth is a quadrature, and of up to 21, whose
// truth is a long run: counts with exposures, negative binomial and gamma responses with an unknown shape,
// Student-t noise, nearly collinear columns. And skewed variables, mixed by a matrix.
#include <fmt/format.h>

#include <Eigen/Dense>

#include <array>
#include <cmath>
#include <numbers>

#include "truth.hpp"

namespace magva::bench {

namespace {

using Generator = std::mt19937_64;

enum class Family { kPoisson, kNegativeBinomial, kGamma, kStudentT, kBinomial };
constexpr std::array kFamilyNames = {"Poisson", "negative binomial", "gamma", "Student t", "binomial"};

double digamma(double x) {
  double shift = 0;
  for (; x < 8; x += 1) shift -= 1 / x;
  const double r = 1 / (x * x);
  return shift + std::log(x) - .5 / x - r * (1. / 12 - r * (1. / 120 - r / 252));
}

/// Beyond this, differences of log gammas are their first terms: else rounding is larger than they are.
constexpr double kLargeShape = 1e5;

/// log Gamma(a + y) - log Gamma(a), and its derivative by a.
double log_gamma_above(double a, double y) {
  if (a > kLargeShape) return y * std::log(a) + .5 * y * (y - 1) / a;
  return std::lgamma(a + y) - std::lgamma(a);
}
double digamma_above(double a, double y) {
  if (a > kLargeShape) return y / a - .5 * y * (y - 1) / (a * a);
  return digamma(a + y) - digamma(a);
}

/// a log a - a - log Gamma(a).
double stirling_excess(double a) {
  if (a > kLargeShape) return .5 * std::log(a / (2 * std::numbers::pi)) - 1 / (12 * a);
  return a * std::log(a) - a - std::lgamma(a);
}

struct RegressionDensity {
  Family family = Family::kPoisson;
  Matrix x;
  Vector y;
  Vector offset;
  double prior_sd = 1;
  static constexpr double kTrials = 5;
  static constexpr double kDegrees = 4;

  /// The last coordinate is the logarithm of a shape, or of a scale.
  bool has_shape() const { return family != Family::kPoisson && family != Family::kBinomial; }
  Index dimension() const { return x.cols() + (has_shape() ? 1 : 0); }

  /// Log likelihood of a row, with its derivatives by the predictor and by the log shape.
  double row(Index i, double eta, double log_shape, double& by_eta, double& by_shape) const {
    const double mu = std::exp(std::min(eta, 500.)), a = std::exp(log_shape), value = y(i);
    switch (family) {
      case Family::kPoisson:
        by_eta = value - mu;
        return value * eta - mu;
      case Family::kBinomial:
        by_eta = value - kTrials / (1 + std::exp(-eta));
        return value * eta -
               kTrials * (eta > 0 ? eta + std::log1p(std::exp(-eta)) : std::log1p(std::exp(eta)));
      case Family::kNegativeBinomial: {
        const double far = a * std::log1p(mu / a);
        by_eta = value - (value + a) * mu / (a + mu);
        by_shape = a * digamma_above(a, value) + a * (mu - value) / (a + mu) - far;
        return log_gamma_above(a, value) + value * (eta - std::log(a + mu)) - far;
      }
      case Family::kGamma: {
        const double log_ratio = std::log(value) - eta, excess = a * (1 + log_ratio - std::exp(log_ratio));
        by_eta = a * (std::exp(log_ratio) - 1);
        by_shape = excess + (a > kLargeShape ? .5 + 1 / (12 * a) : a * (log_shape - digamma(a)));
        return excess - std::log(value) + stirling_excess(a);
      }
      case Family::kStudentT: {
        const double z = (value - eta) / a;
        const double slope = (kDegrees + 1) * z / (kDegrees + z * z);
        by_eta = slope / a;
        by_shape = slope * z - 1;
        return -log_shape - .5 * (kDegrees + 1) * std::log1p(z * z / kDegrees);
      }
    }
    return 0;
  }

  double operator()(ConstVectorRef theta, VectorRef gradient) const {
    const Index p = x.cols();
    const double log_shape = has_shape() ? theta(p) : 0;
    gradient = -theta / (prior_sd * prior_sd);
    double value = -.5 * theta.squaredNorm() / (prior_sd * prior_sd);
    for (Index i = 0; i < y.size(); ++i) {
      double by_eta = 0, by_shape = 0;
      value += row(i, offset(i) + x.row(i).dot(theta.head(p)), log_shape, by_eta, by_shape);
      gradient.head(p) += by_eta * x.row(i).transpose();
      if (has_shape()) gradient(p) += by_shape;
    }
    return value;
  }

  void draw_response(Vector coefficient, double shape, Generator& generator) {
    const Vector eta = offset + x * coefficient;
    for (Index i = 0; i < y.size(); ++i) {
      const double mu = std::exp(eta(i));
      std::gamma_distribution<double> gamma(shape, 1 / shape);
      std::student_t_distribution<double> t(kDegrees);
      if (family == Family::kPoisson) y(i) = std::poisson_distribution<int>(mu)(generator);
      if (family == Family::kNegativeBinomial)
        y(i) = std::poisson_distribution<int>(mu * gamma(generator))(generator);
      if (family == Family::kGamma) y(i) = mu * std::max(1e-8, gamma(generator));
      if (family == Family::kStudentT) y(i) = eta(i) + t(generator) / shape;
      if (family == Family::kBinomial) y(i) = std::binomial_distribution<int>(5, mu / (1 + mu))(generator);
    }
  }
};

}  // namespace

namespace {

/// The rows, where the family is known.
void draw_data(RegressionDensity& model, Index rows, Index columns, double effect, bool collinear,
               Generator& generator) {
  std::normal_distribution<double> normal;
  model.prior_sd = std::array{1., 3., 10.}[generator() % 3];
  model.x = Matrix::NullaryExpr(rows, columns, [&] { return normal(generator); });
  model.x.col(0).setOnes();
  if (collinear) model.x.col(columns - 1) = Vector::Ones(rows) + .1 * model.x.col(columns - 1);
  model.y.resize(rows);
  const bool counts = model.family == Family::kPoisson || model.family == Family::kNegativeBinomial;
  model.offset = Vector::NullaryExpr(rows, [&] { return counts ? normal(generator) : 0.; });
  model.draw_response(Vector::NullaryExpr(columns, [&] { return effect * normal(generator); }),
                      std::exp(.7 * normal(generator)), generator);
}

KnownPosterior posterior_of(std::string kind, const RegressionDensity& model, const char* remark,
                            Moments truth) {
  return {std::move(kind),
          fmt::format("{}, {} x {}, prior sd {}{}", kFamilyNames[static_cast<std::size_t>(model.family)],
                      model.x.rows(), model.x.cols(), model.prior_sd, remark),
          make_model_of(model.dimension(), model), std::move(truth.mean), std::move(truth.sd)};
}

}  // namespace

KnownPosterior small_regression(Generator& generator) {
  RegressionDensity model;
  model.family = static_cast<Family>(generator() % kFamilyNames.size());
  const Index columns =
      model.has_shape() ? 1 + static_cast<Index>(generator() % 2) : 2 + static_cast<Index>(generator() % 2);
  const auto rows = static_cast<Index>(std::array{4, 6, 10, 20, 40}[generator() % 5]);
  const bool collinear = columns > 1 && generator() % 3 == 0;
  draw_data(model, rows, columns, .7, collinear, generator);
  return posterior_of("small regression", model, collinear ? ", collinear" : "",
                      integrate_on_grid(model, model.dimension()));
}

KnownPosterior regression(Generator& generator) {
  for (;;) {  // until a run is sure of its moments
    RegressionDensity model;
    model.family = static_cast<Family>(generator() % kFamilyNames.size());
    const auto columns = static_cast<Index>(5 + generator() % 16);
    const Index rows = columns * static_cast<Index>(std::array{2, 4, 10}[generator() % 3]);
    draw_data(model, rows, columns, 2 / std::sqrt(static_cast<double>(columns)), false, generator);
    if (auto truth = sample_moments(model, model.dimension(), generator))
      return posterior_of("regression", model, "", std::move(*truth));
  }
}

namespace {

/// A sinh-arcsinh transform of a normal variable.
struct SkewedVariable {
  double skew;
  double tail;  // below 1: longer tails

  /// theta = sinh((asinh(z) + skew) / tail), z ~ N(0, 1): its log density with its derivative.
  double operator()(double theta, double& slope) const {
    const double u = tail * std::asinh(theta) - skew;
    const double z = std::sinh(u), c = std::cosh(u), r = 1 + theta * theta;
    slope = (-z * c + z / c) * tail / std::sqrt(r) - theta / r;
    return -.5 * z * z + std::log(c) - .5 * std::log(r);
  }
  void moments(double& mean, double& variance) const {
    double mass = 0, first = 0, second = 0;
    for (int k = -4000; k <= 4000; ++k) {
      const double z = k * .002;
      const double weight = std::exp(-.5 * z * z);
      const double theta = std::sinh((std::asinh(z) + skew) / tail);
      mass += weight;
      first += weight * theta;
      second += weight * theta * theta;
    }
    mean = first / mass;
    variance = second / mass - mean * mean;
  }
};

}  // namespace

KnownPosterior skewed(Generator& generator) {
  std::normal_distribution<double> normal;
  const auto m = static_cast<Index>(2 + generator() % 4);
  std::vector<SkewedVariable> variables;
  Vector mean(m), variance(m);
  for (Index i = 0; i < m; ++i) {
    variables.push_back({.5 * normal(generator), std::exp(.25 * normal(generator))});
    variables.back().moments(mean(i), variance(i));
  }
  // A third of them with correlations near 1: all vary with the first.
  const bool correlated = generator() % 3 == 0;
  Matrix a = (correlated ? .02 : .5) * Matrix::NullaryExpr(m, m, [&] { return normal(generator); });
  a.diagonal().array() += correlated ? .05 : 1;
  if (correlated) a.col(0).array() += 1;
  Density density = [variables, inverse = Matrix(a.inverse())](ConstVectorRef theta, VectorRef gradient) {
    const Vector z = inverse * theta;
    Vector slope(z.size());
    double value = 0;
    for (Index i = 0; i < z.size(); ++i) value += variables[static_cast<std::size_t>(i)](z(i), slope(i));
    gradient = inverse.transpose() * slope;
    return value;
  };
  const Vector sd = (a * variance.asDiagonal() * a.transpose()).diagonal().cwiseSqrt();
  std::string detail = fmt::format("m {}{}", m, correlated ? ", correlated" : "");
  for (const SkewedVariable& variable : variables)
    detail += fmt::format(", {:.2f}/{:.2f}", variable.skew, variable.tail);
  return {"skewed", std::move(detail), make_model_of(m, std::move(density)), a * mean, sd};
}

}  // namespace magva::bench
