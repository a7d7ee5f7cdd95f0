#include "known.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>

#include <cmath>
#include <functional>

namespace magva::bench {

namespace {

using Generator = std::mt19937_64;

class FunctionModel final : public Model {
 public:
  FunctionModel(Index dimension, Density density) : dimension_(dimension), density_(std::move(density)) {}
  Index dimension() const override { return dimension_; }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient, Evaluation&) const override {
    for (Index s = 0; s < theta.cols(); ++s) {
      Vector slope(dimension_);
      log_density(s) = density_(theta.col(s), slope);
      gradient.col(s) = slope;
    }
  }

 private:
  Index dimension_;
  Density density_;
};

}  // namespace

std::unique_ptr<Model> make_model_of(Index dimension, Density density) {
  return std::make_unique<FunctionModel>(dimension, std::move(density));
}

namespace {

template <class T>
T one_of(std::initializer_list<T> values, Generator& generator) {
  return *(values.begin() + static_cast<std::ptrdiff_t>(generator() % values.size()));
}

Matrix random_normals(Index rows, Index cols, Generator& generator) {
  std::normal_distribution<double> normal;
  return Matrix::NullaryExpr(rows, cols, [&] { return normal(generator); });
}

/// theta = centre + a z.
struct Affine {
  Vector centre;
  Matrix a;

  static Affine draw(Index m, Generator& generator) {
    Matrix a = random_normals(m, m, generator) * .5;
    a.diagonal().array() += 1;
    return {random_normals(m, 1, generator).col(0), std::move(a)};
  }
  /// A density of z as one of theta, but for a constant.
  Density of(Density inner) const {
    return [centre = centre, inverse = Matrix(a.inverse()), inner = std::move(inner)](ConstVectorRef theta,
                                                                                      VectorRef gradient) {
      const Vector z = inverse * (theta - centre);
      Vector slope(z.size());
      const double value = inner(z, slope);
      gradient = inverse.transpose() * slope;
      return value;
    };
  }
  Vector sd(const Matrix& covariance) const {
    return (a * covariance * a.transpose()).diagonal().cwiseSqrt();
  }
};

KnownPosterior mapped(std::string kind, std::string detail, const Affine& map, Density inner,
                      const Vector& mean, const Matrix& covariance) {
  return {std::move(kind), std::move(detail), make_model_of(mean.size(), map.of(std::move(inner))),
          map.centre + map.a * mean, map.sd(covariance)};
}

}  // namespace

KnownPosterior t_tails(Generator& generator) {
  const auto m = static_cast<Index>(1 + generator() % 4);
  const double nu = one_of({2.2, 3., 4., 5., 6., 8., 10., 15., 30.}, generator);
  const bool common = generator() % 2 == 0;
  const auto md = static_cast<double>(m);
  Density inner = [=](ConstVectorRef z, VectorRef gradient) {
    if (common) {
      const double square = 1 + z.squaredNorm() / nu;
      gradient = -(nu + md) / nu / square * z;
      return -.5 * (nu + md) * std::log(square);
    }
    double value = 0;
    for (Index i = 0; i < z.size(); ++i) {
      const double square = 1 + z(i) * z(i) / nu;
      gradient(i) = -(nu + 1) / nu * z(i) / square;
      value -= .5 * (nu + 1) * std::log(square);
    }
    return value;
  };
  return mapped("t tails", fmt::format("nu {}, m {}{}", nu, m, common ? ", common scale" : ""),
                Affine::draw(m, generator), std::move(inner), Vector::Zero(m),
                nu / (nu - 2) * Matrix::Identity(m, m));
}

KnownPosterior funnel(Generator& generator) {
  const auto k = static_cast<Index>(1 + generator() % 4);
  const double s = one_of({.2, .4, .7, 1., 1.5, 3.}, generator);
  Density density = [=](ConstVectorRef theta, VectorRef gradient) {
    const double v = theta(0);
    const auto x = theta.tail(k);
    const double precision = std::exp(-v);
    gradient(0) = -v / (s * s) - .5 * static_cast<double>(k) + .5 * precision * x.squaredNorm();
    gradient.tail(k) = -precision * x;
    return -.5 * v * v / (s * s) - .5 * static_cast<double>(k) * v - .5 * precision * x.squaredNorm();
  };
  Vector sd = Vector::Constant(k + 1, std::exp(s * s / 4));
  sd(0) = s;
  return {"funnel", fmt::format("s {}, {} below", s, k), make_model_of(k + 1, std::move(density)),
          Vector::Zero(k + 1), std::move(sd)};
}

KnownPosterior banana(Generator& generator) {
  const auto m = static_cast<Index>(2 + generator() % 3);
  const double bend = one_of({.05, .1, .2, .4, 1.}, generator);
  const double s = one_of({.3, 1.}, generator);
  Density inner = [=](ConstVectorRef z, VectorRef gradient) {
    const double rest = (z(1) - bend * (z(0) * z(0) - 1)) / (s * s);
    gradient = -z;
    gradient(0) += 2 * bend * z(0) * rest;
    gradient(1) = -rest;
    return -.5 * z(0) * z(0) - .5 * s * s * rest * rest - .5 * z.tail(m - 2).squaredNorm();
  };
  Matrix covariance = Matrix::Identity(m, m);
  covariance(1, 1) = s * s + 2 * bend * bend;
  return mapped("banana", fmt::format("bend {}, sd {}, m {}", bend, s, m), Affine::draw(m, generator),
                std::move(inner), Vector::Zero(m), covariance);
}

KnownPosterior two_modes(Generator& generator) {
  const auto m = static_cast<Index>(1 + generator() % 3);
  const double apart = one_of({1., 2., 3., 4., 6., 8.}, generator);
  const double share = one_of({.5, .3, .1}, generator);
  Density inner = [=](ConstVectorRef z, VectorRef gradient) {
    const double first = std::log(share) - .5 * (z(0) + apart / 2) * (z(0) + apart / 2);
    const double second = std::log(1 - share) - .5 * (z(0) - apart / 2) * (z(0) - apart / 2);
    const double largest = std::max(first, second);
    const double sum = std::exp(first - largest) + std::exp(second - largest);
    const double of_first = std::exp(first - largest) / sum;
    gradient = -z;
    gradient(0) = -of_first * (z(0) + apart / 2) - (1 - of_first) * (z(0) - apart / 2);
    return largest + std::log(sum) - .5 * z.tail(m - 1).squaredNorm();
  };
  Vector mean = Vector::Zero(m);
  mean(0) = apart * (.5 - share);
  Matrix covariance = Matrix::Identity(m, m);
  covariance(0, 0) += apart * apart * share * (1 - share);
  return mapped("two modes", fmt::format("{} sds apart, share {}, m {}", apart, share, m),
                Affine::draw(m, generator), std::move(inner), mean, covariance);
}

KnownPosterior log_gamma(Generator& generator) {
  const double shape = one_of({.3, .6, 1., 2., 5., 20., 100.}, generator);
  const double slope = one_of({0., 1., 3.}, generator);
  Density density = [=](ConstVectorRef theta, VectorRef gradient) {
    const double rest = theta(1) - slope * theta(0);
    gradient(0) = shape - std::exp(theta(0)) + slope * rest;
    gradient(1) = -rest;
    return shape * theta(0) - std::exp(theta(0)) - .5 * rest * rest;
  };
  double mass = 0, first = 0, second = 0;  // by the trapezoid rule, exact for what decays at both ends
  for (int i = 0; i < 40'000; ++i) {
    const double u = -100 / std::min(1., shape) + i * (110 / std::min(1., shape)) / 40'000;
    const double weight = std::exp(shape * u - std::exp(u) - shape * std::log(shape) + shape);
    mass += weight;
    first += weight * u;
    second += weight * u * u;
  }
  const double mean = first / mass;
  const double variance = second / mass - mean * mean;
  return {"log gamma", fmt::format("shape {}, slope {}", shape, slope), make_model_of(2, std::move(density)),
          Vector{{mean, slope * mean}},
          Vector{{std::sqrt(variance), std::sqrt(1 + slope * slope * variance)}}};
}

namespace {

/// Groups with known noise; mu ~ N(0, 10^2), tau ~ half-normal(0, 3).
struct Groups {
  Vector y;
  Vector noise_variance;
  bool centred;

  static constexpr double kMuVariance = 100;
  static constexpr double kTauVariance = 9;

  Index count() const { return y.size(); }
  double log_hyperprior(double mu, double log_tau, double& by_mu, double& by_log_tau) const {
    const double square = std::exp(2 * log_tau) / kTauVariance;
    by_mu = -mu / kMuVariance;
    by_log_tau = 1 - square;
    return -.5 * mu * mu / kMuVariance + log_tau - .5 * square;
  }

  double operator()(ConstVectorRef theta, VectorRef gradient) const {
    const Index j = count();
    const double mu = theta(j);
    const double tau = std::exp(theta(j + 1));
    const double value = log_hyperprior(mu, theta(j + 1), gradient(j), gradient(j + 1));
    const auto own = theta.head(j).array();
    const Vector effect = centred ? Vector(own) : Vector(mu + tau * own);
    const Vector residual = (y - effect).cwiseQuotient(noise_variance);
    const double likelihood = -.5 * residual.dot(y - effect);
    if (!centred) {
      gradient.head(j) = tau * residual - theta.head(j);
      gradient(j) += residual.sum();
      gradient(j + 1) += tau * residual.dot(theta.head(j));
      return value + likelihood - .5 * own.square().sum();
    }
    const Vector z = (own - mu) / tau;
    gradient.head(j) = residual - z / tau;
    gradient(j) += z.sum() / tau;
    gradient(j + 1) += z.squaredNorm() - static_cast<double>(j);
    return value + likelihood - .5 * z.squaredNorm() - static_cast<double>(j) * theta(j + 1);
  }

  /// Means and variances of all coordinates given mu and log tau.
  void given(double mu, double tau, Vector& mean, Vector& variance) const {
    const Index j = count();
    const Vector shrunk = (tau * tau) / (tau * tau + noise_variance.array());
    mean.head(j) = mu + shrunk.array() * (y.array() - mu);
    variance.head(j) = shrunk.cwiseProduct(noise_variance);
    mean(j) = mu;
    mean(j + 1) = std::log(tau);
    variance.tail(2).setZero();
    if (centred) return;
    mean.head(j) = (mean.head(j).array() - mu) / tau;
    variance.head(j) /= tau * tau;
  }

  double log_marginal(double mu, double log_tau) const {
    double unused = 0;
    double value = log_hyperprior(mu, log_tau, unused, unused);
    for (Index i = 0; i < count(); ++i) {
      const double total = noise_variance(i) + std::exp(2 * log_tau);
      value -= .5 * (std::log(total) + (y(i) - mu) * (y(i) - mu) / total);
    }
    return value;
  }
};

/// On a grid over mu and log tau that has all mass.
void integrate(const Groups& groups, Vector& mean, Vector& sd) {
  const Index m = groups.count() + 2;
  double mass = 0;
  Vector first = Vector::Zero(m), second = Vector::Zero(m), at(m), spread(m);
  for (int a = 0; a <= 400; ++a)
    for (int b = 0; b <= 400; ++b) {
      const double mu = -40 + .2 * a;
      const double log_tau = -14 + .04 * b;
      const double weight = std::exp(groups.log_marginal(mu, log_tau));
      groups.given(mu, std::exp(log_tau), at, spread);
      mass += weight;
      first += weight * at;
      second += weight * (at.cwiseAbs2() + spread);
    }
  mean = first / mass;
  sd = (second / mass - mean.cwiseAbs2()).cwiseSqrt();
}

}  // namespace

KnownPosterior group_sd(Generator& generator) {
  const auto count = static_cast<Index>(4 + generator() % 7);
  const double tau = one_of({.1, 1., 3.}, generator);
  Groups groups;
  groups.centred = generator() % 2 == 0;
  groups.noise_variance = random_normals(count, 1, generator).col(0).array().square() + .3;
  groups.y = tau * random_normals(count, 1, generator).col(0) +
             groups.noise_variance.cwiseSqrt().cwiseProduct(random_normals(count, 1, generator).col(0));
  Vector mean, sd;
  integrate(groups, mean, sd);
  return {"group sd", fmt::format("{} groups, tau {}{}", count, tau, groups.centred ? ", centred" : ""),
          make_model_of(count + 2, groups), std::move(mean), std::move(sd)};
}

}  // namespace magva::bench
