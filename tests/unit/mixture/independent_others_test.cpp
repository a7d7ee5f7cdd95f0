// Others that are independent given the hyper-parameters, against integrals over fine grids.
#include "mixture/independent_others.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>
#include <random>

#include "magva/fit.hpp"
#include "mixture/hyper_cells.hpp"
#include "support/targets.hpp"

namespace magva {
namespace {

/// y_g ~ Poisson(exp(mu + sd z_g)), z_g ~ N(0, 1), mu ~ N(0, 4), sd ~ half-normal(1); theta = (mu, log sd,
/// z).
struct CountedGroups {
  Vector y;

  auto model() const {
    return make_model(y.size() + 2, [y = y](ConstVectorRef theta, VectorRef gradient) {
      const double sd = std::exp(theta(1));
      const auto z = theta.tail(y.size());
      const Vector eta = theta(0) + sd * z.array();
      const Vector left = y.array() - eta.array().exp();
      gradient(0) = left.sum() - theta(0) / 4;
      gradient(1) = sd * left.dot(z) - sd * sd + 1;
      gradient.tail(y.size()) = sd * left - z;
      return y.dot(eta) - eta.array().exp().sum() -
             .5 * (z.squaredNorm() + theta(0) * theta(0) / 4 + sd * sd) + theta(1);
    });
  }
  /// The integral over z_g of a group with this count, as a logarithm, less the normal density's constant.
  static double log_integral(double count, double mu, double sd) {
    constexpr double kSpacing = .1;
    double sum = 0;
    for (double z = -8; z < 8; z += kSpacing) {
      const double eta = mu + sd * z;
      sum += kSpacing * std::exp(count * eta - std::exp(eta) - .5 * z * z);
    }
    return std::log(sum);
  }
  double log_marginal(double mu, double log_sd) const {
    const double sd = std::exp(log_sd);
    std::map<double, double> groups;
    for (const double count : y) groups[count] += 1;
    double out = -.5 * (mu * mu / 4 + sd * sd) + log_sd;
    for (const auto& [count, number] : groups) out += number * log_integral(count, mu, sd);
    return out;
  }
};

CountedGroups counted_groups(Index count, double mu, double sd, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Vector y(count);
  for (double& one : y)
    one = static_cast<double>(std::poisson_distribution<int>(std::exp(mu + sd * normal(random)))(random));
  return {y};
}

/// A hyper-parameter with every other parameter: places of the lower triangle.
HessianPattern star(Index m, Index centres, bool chained) {
  PatternEntries entries;
  for (Index j = 0; j < m; ++j)
    for (Index i = j; i < m; ++i)
      if (i == j || j < centres || (chained && i == j + 1)) {
        entries.rows.push_back(i);
        entries.columns.push_back(j);
      }
  return {m, std::move(entries)};
}

TEST(SeparatingSet, HasThoseThatConnectTheOthers) {
  const HessianPattern two = star(40, 2, false);
  EXPECT_FALSE(independent_given(two, {1}));
  EXPECT_TRUE(independent_given(two, {1, 0}));
  EXPECT_EQ(separating_set(two, {1}, 3), (std::vector<Index>{1, 0}));
  EXPECT_EQ(separating_set(two, {1, 0}, 2), (std::vector<Index>{1, 0}));
  EXPECT_FALSE(separating_set(two, {1}, 1).has_value());
  EXPECT_FALSE(separating_set(star(40, 2, true), {1}, 6).has_value());
}

TEST(OthersQuadrature, HasTheIntegralsOfAFineGrid) {
  constexpr Index kGroups = 200;
  const CountedGroups groups = counted_groups(kGroups, .5, .7, 1);
  const auto model = groups.model();
  Evaluator evaluator(model, 1);
  // Normals near the densities, as where it is used: at their modes, by Newton's method.
  Vector theta = Vector::Zero(kGroups + 2), sd = Vector::Ones(kGroups + 2);
  theta.head(2) << .4, std::log(.8);
  for (Index i = 2; i < theta.size(); ++i)
    for (int k = 0; k < 50; ++k) {
      const double rate = std::exp(.4 + .8 * theta(i));
      sd(i) = 1 / std::sqrt(.64 * rate + 1);
      theta(i) += std::min(1., sd(i) * sd(i) * (.8 * (groups.y(i - 2) - rate) - theta(i)));
    }
  const auto found = OthersQuadrature({0, 1}).at(evaluator, theta, sd);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->elbo + found->missing, groups.log_marginal(.4, std::log(.8)), .01);
  double elbo = -.5 * (.16 / 4 + .64) + std::log(.8);
  for (Index g = 0; g < kGroups; ++g) {
    constexpr double kSpacing = .05;
    const double mean = theta(g + 2), scale = sd(g + 2);
    double gradient = 0, curvature = 0, total = 0, first = 0, second = 0;
    for (double x = -7; x < 7; x += kSpacing) {
      const double weight = kSpacing * std::exp(-.5 * x * x) / std::sqrt(2 * std::numbers::pi);
      const double z = mean + scale * x;
      const double rate = std::exp(.4 + .8 * z);
      const double log_p = groups.y(g) * (.4 + .8 * z) - rate - .5 * z * z;
      elbo += weight * (log_p + .5 * x * x + std::log(scale) + .5 * std::log(2 * std::numbers::pi));
      gradient += weight * (.8 * (groups.y(g) - rate) - z);
      curvature += weight * (.64 * rate + 1);
      const double mass = std::exp(log_p);
      total += mass;
      first += mass * x;
      second += mass * x * x;
    }
    EXPECT_NEAR(found->gradient(g + 2), gradient, 1e-6);
    EXPECT_NEAR(found->curvature(g + 2), curvature, 1e-5);
    EXPECT_NEAR(found->shift(g + 2), first / total, 1e-3);
    EXPECT_NEAR(found->sd_ratio(g + 2), std::sqrt(second / total - std::pow(first / total, 2)), 1e-3);
  }
  EXPECT_NEAR(found->elbo, elbo, 1e-3);
}

// Polynomials do not follow the logarithm of a Cauchy density.
TEST(OthersQuadrature, DoesNotDoForHeavyTails) {
  const auto model = make_model(21, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -2 * theta.array() / (1 + theta.array().square());
    return -(1 + theta.array().square()).log().sum();
  });
  Evaluator evaluator(model, 1);
  EXPECT_FALSE(OthersQuadrature({0}).at(evaluator, Vector::Zero(21), Vector::Constant(21, 1.5)).has_value());
}

TEST(HyperCells, HaveTheDensityOfTheirMixture) {
  const std::vector<HyperCell> cells = {{.3, 0, Vector::Constant(1, -1), Matrix::Constant(1, 1, .25)},
                                        {.7, 0, Vector::Constant(1, 2), Matrix::Constant(1, 1, 4)}};
  Matrix at(1, 1);
  at << .5;
  const double density =
      (.3 * std::exp(-.5 * 9) / .5 + .7 * std::exp(-.5 * .5625) / 2) / std::sqrt(2 * std::numbers::pi);
  EXPECT_NEAR(log_density(cells, at)(0), std::log(density), 1e-12);
}

// The log weights of draws of all parameters have an sd of 4 and more, so that few draws have all the weight;
// to second order they are half an sd of log sd off. Cells are accurate to a few hundredths of an sd.
TEST(Fit, HasTheHyperParametersOfThousandsOfGroups) {
  const CountedGroups groups = counted_groups(3000, .5, .7, 2);
  const FitResult found = fit(groups.model());
  EXPECT_STREQ(found.posterior.best().shape(), "mixture");
  EXPECT_TRUE(found.trusted);
  EXPECT_TRUE(found.warnings.empty());
  const Vector mean = found.posterior.best().mean(), sd = found.posterior.best().sd();
  double total = 0, highest = groups.log_marginal(mean(0), mean(1));
  Eigen::Vector2d first = Eigen::Vector2d::Zero(), second = Eigen::Vector2d::Zero();
  for (double a = -5; a <= 5; a += .5)
    for (double b = -5; b <= 5; b += .5) {
      const Eigen::Vector2d u(mean(0) + a * sd(0), mean(1) + b * sd(1));
      const double mass = std::exp(groups.log_marginal(u(0), u(1)) - highest);
      total += mass;
      first += mass * u;
      second += mass * u.cwiseAbs2();
    }
  first /= total;
  const Eigen::Vector2d exact_sd = (second / total - first.cwiseAbs2()).cwiseSqrt();
  for (const Index i : {0, 1}) {
    EXPECT_NEAR((mean(i) - first(i)) / exact_sd(i), 0, .06) << i;
    EXPECT_NEAR(sd(i) / exact_sd(i), 1, .06) << i;
  }
}

}  // namespace
}  // namespace magva
