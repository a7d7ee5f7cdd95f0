// Regressions of discrete responses with two or three parameters, known on a grid: counts with more zeros
// than a Poisson distribution's, and ordered responses of three levels.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "truth.hpp"

namespace magva::bench {

namespace {

using Generator = std::mt19937_64;

double log_one_plus_exp(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// Zero with probability p, else Poisson; coordinates logit p and the coefficients.
struct ZeroInflated {
  Matrix x;
  Vector y;
  double prior_sd;

  double operator()(ConstVectorRef theta, VectorRef gradient) const {
    const double precision = 1 / (prior_sd * prior_sd);
    gradient = -precision * theta;
    double value = -.5 * precision * theta.squaredNorm();
    const double logit = theta(0), p = logistic(logit);
    const auto coefficients = theta.tail(x.cols());
    for (Index i = 0; i < y.size(); ++i) {
      const double eta = x.row(i).dot(coefficients), mu = std::exp(std::min(eta, 500.));
      value -= log_one_plus_exp(logit);
      if (y(i) > 0) {
        value += y(i) * eta - mu;
        gradient(0) -= p;
        gradient.tail(x.cols()) += (y(i) - mu) * x.row(i).transpose();
        continue;
      }
      const double inflated = logistic(logit + mu);  // the zero's share of p among p + (1 - p) exp(-mu)
      value += log_one_plus_exp(logit + mu) - mu;
      gradient(0) += inflated - p;
      gradient.tail(x.cols()) -= (1 - inflated) * mu * x.row(i).transpose();
    }
    return value;
  }
};

/// P(y <= k) = logistic(c_k - b x) for three levels; coordinates c_0, log(c_1 - c_0) and b.
struct Ordered {
  Vector x;
  std::vector<int> y;
  double prior_sd;

  double operator()(ConstVectorRef theta, VectorRef gradient) const {
    const double precision = 1 / (prior_sd * prior_sd);
    gradient = -precision * theta;
    double value = -.5 * precision * theta.squaredNorm();
    const double gap = std::exp(theta(1));
    for (Index i = 0; i < x.size(); ++i) {
      const double low = theta(0) - theta(2) * x(i), high = low + gap;
      const int level = y[static_cast<std::size_t>(i)];
      double by_low = 0, by_high = 0;
      if (level == 0) {
        value -= log_one_plus_exp(-low);
        by_low = logistic(-low);
      } else if (level == 2) {
        value -= log_one_plus_exp(high);
        by_high = -logistic(high);
      } else {  // logistic(high) - logistic(low), as a product
        value += high + std::log(-std::expm1(-gap)) - log_one_plus_exp(high) - log_one_plus_exp(low);
        by_high = logistic(-high);
        by_low = -logistic(low);
        gradient(1) += gap / std::expm1(gap);
      }
      gradient(0) += by_low + by_high;
      gradient(1) += gap * by_high;
      gradient(2) -= (by_low + by_high) * x(i);
    }
    return value;
  }
};

}  // namespace

KnownPosterior zero_inflated(Generator& generator) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto columns = static_cast<Index>(1 + generator() % 2);
  const auto rows = static_cast<Index>(std::array{10, 20, 40}[generator() % 3]);
  const double p = std::array{0., .3, .7}[generator() % 3];
  ZeroInflated model{Matrix::NullaryExpr(rows, columns, [&] { return normal(generator); }), Vector(rows),
                     std::array{1., 3., 10.}[generator() % 3]};
  model.x.col(0).setOnes();
  const Vector b = Vector::NullaryExpr(columns, [&] { return .7 * normal(generator); });
  for (Index i = 0; i < rows; ++i)
    model.y(i) = uniform(generator) < p
                     ? 0
                     : std::poisson_distribution<int>(std::exp(.5 + model.x.row(i).dot(b)))(generator);
  const Index m = columns + 1;
  Moments truth = integrate_on_grid(model, m);
  return {"zero-inflated", fmt::format("{} x {}, p {}, prior sd {}", rows, columns, p, model.prior_sd),
          make_model_of(m, model), std::move(truth.mean), std::move(truth.sd)};
}

KnownPosterior ordered(Generator& generator) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto rows = static_cast<Index>(std::array{6, 12, 30}[generator() % 3]);
  Ordered model{Vector::NullaryExpr(rows, [&] { return normal(generator); }),
                {},
                std::array{1., 3., 10.}[generator() % 3]};
  const double low = normal(generator) - .5, gap = std::exp(.5 * normal(generator)), b = normal(generator);
  for (const double x : model.x) {
    const double u = uniform(generator);
    model.y.push_back(u < logistic(low - b * x) ? 0 : u < logistic(low + gap - b * x) ? 1 : 2);
  }
  Moments truth = integrate_on_grid(model, 3);
  return {"ordered", fmt::format("{} rows, prior sd {}", rows, model.prior_sd), make_model_of(3, model),
          std::move(truth.mean), std::move(truth.sd)};
}

}  // namespace magva::bench
