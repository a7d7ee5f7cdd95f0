// Posteriors that are curved, flat, bounded or come twice, with a truth that is exact given one parameter or
// known on a grid of two: products of two parameters, sums of which nothing else is known, parameters near a
// bound, funnels with data, mixtures whose components can change places.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "truth.hpp"

namespace magva::bench {

namespace {

using Generator = std::mt19937_64;

double one_of(std::initializer_list<double> values, Generator& generator) {
  return *(values.begin() + static_cast<std::ptrdiff_t>(generator() % values.size()));
}

KnownPosterior posterior_of(std::string kind, std::string detail, Index dimension, Density density,
                            Moments truth) {
  return {std::move(kind), std::move(detail), make_model_of(dimension, std::move(density)),
          std::move(truth.mean), std::move(truth.sd)};
}

/// y ~ N(a b, noise^2), a and b ~ N(0, s^2); or a half-normal, with the coordinate log a.
struct Product {
  double y, noise, s;
  bool positive;

  double operator()(ConstVectorRef theta, VectorRef gradient) const {
    const double a = positive ? std::exp(theta(0)) : theta(0), b = theta(1);
    const double pull = (y - a * b) / (noise * noise), prior = 1 / (s * s);
    const double by_a = pull * b - prior * a;
    gradient(0) = positive ? a * by_a + 1 : by_a;
    gradient(1) = pull * a - prior * b;
    return -.5 * (y - a * b) * pull - .5 * prior * (a * a + b * b) + (positive ? theta(0) : 0);
  }

  double given_first(double t, Vector& mean, Vector& variance) const {
    const double a = positive ? std::exp(t) : t;
    const double total = a * a * s * s + noise * noise;
    mean << t, a * y * s * s / total;
    variance << 0, s * s * noise * noise / total;
    return -.5 * a * a / (s * s) - .5 * std::log(total) - .5 * y * y / total + (positive ? t : 0);
  }
};

}  // namespace

KnownPosterior product(Generator& generator) {
  const Product model{one_of({0., .5, 2., 6.}, generator), one_of({.2, 1.}, generator),
                      one_of({1., 3.}, generator), generator() % 2 == 0};
  const double end = model.positive ? std::log(12 * model.s) : 12 * model.s;
  return posterior_of(
      "product",
      fmt::format("y {}, noise {}, prior sd {}{}", model.y, model.noise, model.s,
                  model.positive ? ", log a" : ""),
      2, model,
      integrate_over_one(
          [&](double t, Vector& mean, Vector& variance) { return model.given_first(t, mean, variance); }, 2,
          model.positive ? end - 40 : -end, end));
}

KnownPosterior only_the_sum(Generator& generator) {
  const double count = one_of({0., 1., 3., 20.}, generator), s = one_of({1., 3., 10., 100.}, generator);
  Density density = [=](ConstVectorRef theta, VectorRef gradient) {
    const double u = theta.sum(), mu = std::exp(std::min(u, 600.));
    gradient = Vector::Constant(2, count - mu) - theta / (s * s);
    return count * u - mu - .5 * theta.squaredNorm() / (s * s);
  };
  const GivenOne given = [&](double u, Vector& mean, Vector& variance) {
    mean.setConstant(.5 * u);
    variance.setConstant(.5 * s * s);
    return count * u - std::exp(u) - .25 * u * u / (s * s);
  };
  return posterior_of("only the sum", fmt::format("count {}, prior sd {}", count, s), 2, std::move(density),
                      integrate_over_one(given, 2, -14 * s, 8));
}

KnownPosterior bounded(Generator& generator) {
  const bool interval = generator() % 2 == 0;
  const double slope = one_of({0., 1.}, generator);
  const double a = one_of({.5, 1., 2., 10., 50.}, generator), b = one_of({.5, 1., 2., 10., 50.}, generator);
  const double centre = one_of({-3., -1., 0., 1., 2., 4.}, generator);
  // The logit of a beta variable, or the logarithm of a normal one that is above 0.
  const auto log_density = [=](double t, double& by_t) {
    if (interval) {
      const double p = 1 / (1 + std::exp(-t));
      by_t = a - (a + b) * p;
      return a * t - (a + b) * (t > 0 ? t + std::log1p(std::exp(-t)) : std::log1p(std::exp(t)));
    }
    const double x = std::exp(t);
    by_t = 1 - (x - centre) * x;
    return t - .5 * (x - centre) * (x - centre);
  };
  Density density = [=](ConstVectorRef theta, VectorRef gradient) {
    const double rest = theta(1) - slope * theta(0);
    const double value = log_density(theta(0), gradient(0)) - .5 * rest * rest;
    gradient(0) += slope * rest;
    gradient(1) = -rest;
    return value;
  };
  const GivenOne given = [&](double t, Vector& mean, Vector& variance) {
    double unused = 0;
    mean << t, slope * t;
    variance << 0, 1;
    return log_density(t, unused);
  };
  KnownQuantity x{"x", 0, [=](double t) { return interval ? 1 / (1 + std::exp(-t)) : std::exp(t); }, 0, 0};
  KnownPosterior out =
      posterior_of("bounded",
                   interval ? fmt::format("logit of beta({}, {}), slope {}", a, b, slope)
                            : fmt::format("log of N({}, 1) above 0, slope {}", centre, slope),
                   2, std::move(density), integrate_over_one(given, 2, -60, interval ? 60 : 4, x));
  if (generator() % 2 == 0) out.quantity = std::move(x);
  return out;
}

KnownPosterior funnel_with_data(Generator& generator) {
  std::normal_distribution<double> normal;
  const auto k = static_cast<Index>(1 + generator() % 5);
  const double s = one_of({.5, 1., 2., 3.}, generator), noise = one_of({.3, 1., 3.}, generator);
  const Vector y =
      noise * Vector::NullaryExpr(k, [&] { return normal(generator); }) +
      std::exp(.25 * s * normal(generator)) * Vector::NullaryExpr(k, [&] { return normal(generator); });
  const double precision = 1 / (noise * noise);
  Density density = [=](ConstVectorRef theta, VectorRef gradient) {
    const double v = theta(0), own = std::exp(-v);
    const Vector x = theta.tail(k), left = precision * (y - x);
    gradient(0) = -v / (s * s) - .5 * static_cast<double>(k) + .5 * own * x.squaredNorm();
    gradient.tail(k) = left - own * x;
    return -.5 * v * v / (s * s) - .5 * static_cast<double>(k) * v - .5 * own * x.squaredNorm() -
           .5 * left.dot(y - x);
  };
  const GivenOne given = [&](double v, Vector& mean, Vector& variance) {
    const double total = std::exp(v) + noise * noise, shrunk = std::exp(v) / total;
    mean(0) = v;
    mean.tail(k) = shrunk * y;
    variance.setConstant(shrunk * noise * noise);
    variance(0) = 0;
    return -.5 * v * v / (s * s) - .5 * static_cast<double>(k) * std::log(total) -
           .5 * y.squaredNorm() / total;
  };
  return posterior_of("funnel with data", fmt::format("s {}, noise {}, {} below", s, noise, k), k + 1,
                      std::move(density), integrate_over_one(given, k + 1, -10 * s, 10 * s));
}

namespace {

/// Half of the y from N(a, 1), half from N(b, 1); a and b ~ N(0, s^2).
struct Mixture {
  Vector y;
  double s;

  double operator()(ConstVectorRef theta, VectorRef gradient) const {
    gradient = -theta / (s * s);
    double value = -.5 * theta.squaredNorm() / (s * s);
    for (const double each : y) {
      const double a = -.5 * (each - theta(0)) * (each - theta(0));
      const double b = -.5 * (each - theta(1)) * (each - theta(1));
      const double share = 1 / (1 + std::exp(b - a));
      value += std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
      gradient(0) += share * (each - theta(0));
      gradient(1) += (1 - share) * (each - theta(1));
    }
    return value;
  }
};

/// On an even grid over both, with all mass; both have the same moments.
Moments integrate_square(const Density& density, double end) {
  constexpr Index kPoints = 501;
  const Vector at = Vector::LinSpaced(kPoints, -end, end);
  Matrix log_density(kPoints, kPoints);
  Vector unused(2);
  for (Index i = 0; i < kPoints; ++i)
    for (Index j = 0; j < kPoints; ++j) log_density(i, j) = density(Vector{{at(i), at(j)}}, unused);
  const Vector mass = (log_density.array() - log_density.maxCoeff()).exp().matrix().rowwise().sum();
  const double mean = mass.dot(at) / mass.sum();
  const double variance = mass.dot((at.array() - mean).square().matrix()) / mass.sum();
  return {Vector::Constant(2, mean), Vector::Constant(2, std::sqrt(variance))};
}

}  // namespace

KnownPosterior label_switching(Generator& generator) {
  std::normal_distribution<double> normal;
  const double apart = one_of({0., 2., 4.}, generator);
  const auto rows = static_cast<Index>(one_of({5, 10, 30}, generator));
  Mixture model{Vector(rows), one_of({1., 5.}, generator)};
  for (double& each : model.y) each = normal(generator) + (generator() % 2 == 0 ? .5 : -.5) * apart;
  Moments truth = integrate_square(model, 20);
  return posterior_of("label switching", fmt::format("{} rows, {} apart, prior sd {}", rows, apart, model.s),
                      2, model, std::move(truth));
}

}  // namespace magva::bench
