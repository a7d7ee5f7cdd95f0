// The default on posteriors with a few hyper-parameters, given which the others are near a Gaussian.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/elbo.hpp"
#include "core/evaluator.hpp"
#include "core/noise.hpp"
#include "magva/fit.hpp"
#include "support/hierarchical.hpp"

namespace magva {
namespace {

/// Two responses in each of many groups: y ~ N(u_g, sigma), u_g ~ N(mu, tau), centred, with a flat prior of
/// mu, half-normal ones of the sds, and the logarithms of these as parameters. The sums and differences of
/// the two are independent given the sds, so that the posterior of these is known up to one constant.
class PairsOfGroups {
 public:
  explicit PairsOfGroups(Index groups) : first_(groups), second_(groups) {
    Matrix z(3, groups);
    Noise(21, NoiseStream::kRandomPoint).fill(0, 0, z);
    const Vector effect = 1 + .3 * z.row(0).transpose().array();
    first_ = effect + z.row(1).transpose();
    second_ = effect + z.row(2).transpose();
  }

  auto model() const {
    return make_model(first_.size() + 3, [one = first_, two = second_](ConstVectorRef theta,
                                                                       VectorRef gradient) {
      const Index groups = one.size();
      const double mu = theta(0), tau = std::exp(theta(1)), sigma = std::exp(theta(2));
      const Vector off = (theta.tail(groups).array() - mu) / tau;
      const Vector a = (one - theta.tail(groups)) / sigma, b = (two - theta.tail(groups)) / sigma;
      gradient(0) = off.sum() / tau;
      gradient(1) = off.squaredNorm() - static_cast<double>(groups) - tau * tau + 1;
      gradient(2) = a.squaredNorm() + b.squaredNorm() - 2 * static_cast<double>(groups) - sigma * sigma + 1;
      gradient.tail(groups) = (a + b) / sigma - off / tau;
      return -.5 * (off.squaredNorm() + a.squaredNorm() + b.squaredNorm() + tau * tau + sigma * sigma) -
             static_cast<double>(groups) * (theta(1) + 2 * theta(2)) + theta(1) + theta(2);
    });
  }

  /// Mean and sd of tau, by sums over a grid of both logarithms.
  std::pair<double, double> moments_of_tau() const {
    const auto groups = static_cast<double>(first_.size());
    const Vector middle = .5 * (first_ + second_);
    const double within = .5 * (first_ - second_).squaredNorm();
    const double between = (middle.array() - middle.mean()).square().sum();
    double highest = -std::numeric_limits<double>::infinity();
    std::vector<std::pair<double, double>> points;
    for (double t = -9; t < 1; t += .02)
      for (double s = -.5; s < .5; s += .01) {
        const double tau2 = std::exp(2 * t), sigma2 = std::exp(2 * s);
        const double variance = tau2 + .5 * sigma2;
        const double value = -.5 * (between / variance + (groups - 1) * std::log(variance) + within / sigma2 +
                                    2 * groups * s + tau2 + sigma2) +
                             t + s;
        points.emplace_back(t, value);
        highest = std::max(highest, value);
      }
    double mass = 0, first = 0, second = 0;
    for (const auto& [t, value] : points) {
      const double weight = std::exp(value - highest);
      mass += weight;
      first += weight * std::exp(t);
      second += weight * std::exp(2 * t);
    }
    return {first / mass, std::sqrt(second / mass - std::pow(first / mass, 2))};
  }

 private:
  Vector first_, second_;
};

// The sd may be next to zero, where the effects are as narrow: a joint Gaussian has the mean of the sd half
// an sd off, and chains in its metric hardly go there.
TEST(FitAutoHyperParameters, ManyGroupsWithFewDataHaveTheirSd) {
  constexpr Index kGroups = 150;
  const PairsOfGroups groups(kGroups);
  const auto [mean, sd] = groups.moments_of_tau();
  for (const std::uint64_t seed : {1U, 2U}) {
    FitOptions options;
    options.seed = seed;
    options.quantities =
        Quantities{{"tau"}, [](ConstMatrixRef theta) { return Matrix(theta.row(1).array().exp()); }};
    const FitResult result = fit(groups.model(), options);
    EXPECT_TRUE(result.trusted);
    // 20,000 draws know the mean to .007 sds, and what may be in doubt without a warning is .17 of them.
    const Vector tau = result.posterior.best().draws(20'000, 3).row(1).array().exp().transpose();
    EXPECT_NEAR(tau.mean(), mean, .17 * sd) << seed;
    EXPECT_NEAR(std::log(std::sqrt((tau.array() - tau.mean()).square().mean()) / sd), 0, .17) << seed;
  }
}

/// Species whose logarithms of rates are N(mu, s), mu ~ N(0, 1), log s ~ N(0, .5^2): some have been seen,
/// with Poisson counts; of the others each is either not there, with probability 1/2, or has a count of zero.
/// What is not there says nothing of its rate, so that given mu and s these are no Gaussian.
class SeenAndUnseen {
 public:
  SeenAndUnseen(Index seen, Index unseen) : counts_(seen), unseen_(unseen) {
    Matrix z(1, seen);
    Noise(22, NoiseStream::kRandomPoint).fill(0, 0, z);
    counts_ = (1 + (1 + .9 * z.row(0).transpose().array()).exp()).floor();
  }

  auto model() const {
    return make_model(2 + counts_.size() + unseen_, [counts = counts_, unseen = unseen_](ConstVectorRef theta,
                                                                                         VectorRef gradient) {
      const Index seen = counts.size(), all = seen + unseen;
      const Eigen::ArrayXd rate = theta.tail(all).array().exp();
      const Eigen::ArrayXd z = (theta.tail(all).array() - theta(0)) * std::exp(-theta(1));
      const Eigen::ArrayXd zero = (-rate.tail(unseen)).exp();
      gradient.tail(all) = -z * std::exp(-theta(1));
      gradient.segment(2, seen) += counts - rate.head(seen).matrix();
      gradient.tail(unseen).array() -= rate.tail(unseen) * zero / (1 + zero);
      gradient(0) = z.sum() * std::exp(-theta(1)) - theta(0);
      gradient(1) = z.square().sum() - static_cast<double>(all) - theta(1) / kLogSd / kLogSd;
      return -.5 * (z.square().sum() + theta(0) * theta(0) + std::pow(theta(1) / kLogSd, 2)) -
             static_cast<double>(all) * theta(1) + counts.dot(theta.segment(2, seen)) -
             rate.head(seen).sum() + (1 + zero).log().sum();
    });
  }

  /// Means and sds of mu and log s, by sums over a grid of both and, for each, of the effects.
  std::pair<Vector, Vector> moments() const {
    double mass = 0;
    Vector first = Vector::Zero(2), second = Vector::Zero(2);
    double highest = -std::numeric_limits<double>::infinity();
    for (const bool sums : {false, true})
      for (double mu = -2; mu < 2.5; mu += .04)
        for (double t = -1.5; t < 1.5; t += .03) {
          const double value = log_density(mu, t);
          highest = std::max(highest, value);
          if (!sums) continue;
          const double weight = std::exp(value - highest);
          mass += weight;
          first += weight * Eigen::Vector2d(mu, t);
          second += weight * Eigen::Vector2d(mu * mu, t * t);
        }
    first /= mass;
    return {first, (second / mass - first.cwiseAbs2()).cwiseSqrt()};
  }

 private:
  static constexpr double kLogSd = .5;

  double log_density(double mu, double t) const {
    const Eigen::ArrayXd z = Eigen::ArrayXd::LinSpaced(81, -6, 6);
    const Eigen::ArrayXd u = mu + std::exp(t) * z, rate = u.exp(), normal = (-.5 * z.square()).exp();
    double out = -.5 * (mu * mu + std::pow(t / kLogSd, 2)) +
                 static_cast<double>(unseen_) * std::log((normal * (1 + (-rate).exp())).sum());
    for (const double count : counts_)
      out += std::log((normal * (count * u - rate - std::lgamma(count + 1)).exp()).sum());
    return out;
  }

  Vector counts_;
  Index unseen_;
};

TEST(FitAutoHyperParameters, SpeciesThatWereNotSeenLeaveTheScaleRight) {
  const SeenAndUnseen species(30, 30);
  const auto [mean, sd] = species.moments();
  for (const std::uint64_t seed : {1U, 2U}) {
    FitOptions options;
    options.seed = seed;
    const FitResult result = fit(species.model(), options);
    EXPECT_TRUE(result.trusted) << seed;
    const Posterior& best = result.posterior.best();
    // Chains know means and log sds to .05; without a warning .17 may be left.
    for (const Index i : {0, 1}) {
      EXPECT_NEAR((best.mean()(i) - mean(i)) / sd(i), 0, .17) << seed;
      EXPECT_NEAR(std::log(best.sd()(i) / sd(i)), 0, .17) << seed;
    }
  }
}

/// The groups' own means in place of z: where the sd is small they are too near to each other for any
/// Gaussian that can be computed, but there is still mass.
auto centred(const test::Groups& groups) {
  return make_model(groups.y.size() + 2, [groups](ConstVectorRef theta, VectorRef gradient) {
    const auto count = static_cast<double>(groups.y.size());
    const double sd = std::exp(theta(1));
    const auto means = theta.tail(groups.y.size());
    const Vector left = (groups.y - means) / groups.noise;
    const Vector apart = (means.array() - theta(0)) / (sd * sd);
    gradient(0) = apart.sum() - theta(0) / 4;
    gradient(1) = sd * sd * apart.squaredNorm() - count - sd * sd + 1;
    gradient.tail(groups.y.size()) = left - apart;
    return -.5 * (groups.noise * left.squaredNorm() + sd * sd * apart.squaredNorm() +
                  theta(0) * theta(0) / 4 + sd * sd) +
           (1 - count) * theta(1);
  });
}

/// Mean and sd of the groups' sd, by sums over a grid of its logarithm.
std::pair<double, double> moments_of_sd(const test::Groups& groups) {
  double mass = 0, first = 0, second = 0;
  for (double t = -15; t < 3; t += .005) {
    const double sd = std::exp(t), weight = std::exp(test::log_marginal(groups, t));
    mass += weight;
    first += weight * sd;
    second += weight * sd * sd;
  }
  first /= mass;
  return {first, std::sqrt(second / mass - first * first)};
}

TEST(FitAutoHyperParameters, CentredGroupsOfASmallSdAreFollowedIntoItsTail) {
  for (const auto& [data, true_sd] : {std::pair{11U, .2}, {20U, .12}}) {
    const test::Groups groups = test::simulated_groups(80, true_sd, .3, data);
    const auto [mean, sd] = moments_of_sd(groups);
    const FitResult result = fit(centred(groups), {});
    EXPECT_TRUE(result.trusted) << data;
    const Vector found = result.posterior.best().draws(4000, 1).row(1).array().exp();
    // A mean may be off by .1 sds, and an sd by a tenth, before there is a doubt; of 4,000 draws four
    // standard errors are .06 sds, and .06.
    EXPECT_NEAR((found.mean() - mean) / sd, 0, .16) << data;
    EXPECT_NEAR(std::sqrt((found.array() - found.mean()).square().mean()) / sd, 1, .16) << data;
  }
}

/// A level and a slope that walk, and twelve months around zero, all non-centred: y_t = level_t + s_c
/// season_(t mod 12) + normal(0, sigma), with level_t - level_(t-1) = slope_t + s_b step_t and slope_t -
/// slope_(t-1) = .1 s_a bend_t. theta = (log s_a, s_b, s_c, sigma; start; bend, step, season), the four
/// half-normal(1), the others normal. Given these four all else is normal, but no mixture of Gaussians of
/// affordable size follows how.
class TrendAndSeason {
 public:
  explicit TrendAndSeason(Index months) : y_(months) {
    Matrix noise(months, 3);
    Noise(1, NoiseStream::kRandomPoint).fill(0, 0, noise);
    double level = 0, slope = 0;
    for (Index t = 0; t < months; ++t) {
      slope += .02 * noise(t, 0);
      level += slope + .2 * noise(t, 1);
      y_(t) = level + .8 * std::sin(static_cast<double>(5 * (t % kMonths))) + .5 * noise(t, 2);
    }
  }

  auto model() const {
    return make_model(5 + 2 * y_.size() + kMonths,
                      [months = *this](ConstVectorRef theta, VectorRef gradient) {
                        return months.log_density(theta, gradient);
                      });
  }

 private:
  static constexpr Index kMonths = 12;

  double log_density(ConstVectorRef theta, VectorRef gradient) const {
    const Index n = y_.size();
    const Eigen::Array4d scale = theta.head<4>().array().exp();
    const auto bend = theta.segment(5, n), step = theta.segment(5 + n, n), season = theta.tail(kMonths);
    Vector error(n);
    double level = theta(4), slope = 0;
    for (Index t = 0; t < n; ++t) {
      slope += .1 * scale(0) * bend(t);
      level += slope + scale(1) * step(t);
      error(t) = (y_(t) - level - scale(2) * season(t % kMonths)) / scale(3);
    }
    gradient = -theta;
    double by_level = 0, by_slope = 0;  // what all later errors say of one's change
    for (Index t = n - 1; t >= 0; --t) {
      by_level += error(t) / scale(3);
      by_slope += by_level;
      gradient(5 + t) += .1 * scale(0) * by_slope;
      gradient(5 + n + t) += scale(1) * by_level;
      gradient(5 + 2 * n + t % kMonths) += scale(2) * error(t) / scale(3);
    }
    gradient(4) = by_level - theta(4) / 4;
    const auto by_scale = [](const auto& effects, const auto& all) { return effects.dot(all + effects); };
    gradient.head<4>() = 1 - scale.square();
    gradient(0) += by_scale(bend, gradient.segment(5, n));
    gradient(1) += by_scale(step, gradient.segment(5 + n, n));
    gradient(2) += by_scale(season, gradient.tail(kMonths));
    gradient(3) += error.squaredNorm() - static_cast<double>(n);
    return -.5 * (error.squaredNorm() + theta.tail(2 * n + kMonths).squaredNorm() + theta(4) * theta(4) / 4 +
                  scale.square().sum()) +
           theta.head<4>().sum() - static_cast<double>(n) * theta(3);
  }

  Vector y_;
};

TEST(TrendAndSeason, GradientIsThatOfTheLogDensity) {
  const auto model = TrendAndSeason(40).model();
  Evaluator evaluator(model, 1);
  const Vector at = .3 * test::random_matrix(model.dimension(), 1, 3);
  const Vector direction = test::random_matrix(model.dimension(), 1, 4);
  Vector gradient(at.size()), elsewhere(at.size());
  evaluator.evaluate(at, gradient);
  constexpr double kStep = 1e-5;
  const double slope = (evaluator.evaluate(at + kStep * direction, elsewhere) -
                        evaluator.evaluate(at - kStep * direction, elsewhere)) /
                       (2 * kStep);
  EXPECT_NEAR(gradient.dot(direction) / slope, 1, 1e-5);
}

// Its means and sds may be those of chains: that does not make its draws draws of the posterior. Of a
// mixture with 97 parameters that is near the posterior the mean log weight is a nat or so below the median.
TEST(FitAutoHyperParameters, NoPartOfWhatIsTrustedIsFarFromThePosterior) {
  const TrendAndSeason months(40);
  const FitResult result = fit(months.model(), {});
  const Matrix draws = result.posterior.best().draws(1000, 1);
  Vector weights = log_densities(months.model(), draws, 1) - result.posterior.best().log_density(draws);
  std::sort(weights.begin(), weights.end());
  const double below = weights(weights.size() / 2) - weights.mean();
  EXPECT_TRUE(!result.trusted || below < .2 * static_cast<double>(draws.rows())) << below;
}

}  // namespace
}  // namespace magva
