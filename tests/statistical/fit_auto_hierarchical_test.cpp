// The default on posteriors with hundreds of parameters whose correlations matter.
#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "core/elbo.hpp"
#include "core/noise.hpp"
#include "fit/runs.hpp"
#include "magva/fit.hpp"
#include "refine/refinement.hpp"
#include "support/hierarchical.hpp"
#include "support/targets.hpp"
#include "targets.hpp"
#include "unit/exact/problems.hpp"

namespace magva {
namespace {

/// Counts y_t ~ Poisson(exp(x_t)) of a random walk x with a normal start. E log h under a Gaussian is known,
/// and so is its best one: E[-Hessian] is the walk's precision and the expected rates on the diagonal.
class CountsOfAWalk {
 public:
  explicit CountsOfAWalk(Index size) : counts_(size), precision_(Matrix::Zero(size, size)) {
    constexpr double kStepVariance = .01;
    precision_(0, 0) = 1;
    for (Index t = 1; t < size; ++t) {
      precision_(t, t) += 1 / kStepVariance;
      precision_(t - 1, t - 1) += 1 / kStepVariance;
      precision_(t, t - 1) = precision_(t - 1, t) = -1 / kStepVariance;
    }
    for (Index t = 0; t < size; ++t) counts_(t) = static_cast<double>((7 * t + t / 3) % 5);
  }

  auto model() const {
    return make_model(counts_.size(),
                      [counts = counts_, precision = precision_](ConstVectorRef theta, VectorRef gradient) {
                        const Vector rate = theta.array().exp();
                        const Vector pull = precision * theta;
                        gradient = counts - rate - pull;
                        return counts.dot(theta) - rate.sum() - .5 * theta.dot(pull);
                      });
  }

  double elbo(const Gaussian& q) const {
    const Matrix& root = q.factors();
    return counts_.dot(q.mean()) - rates(q.mean(), q.sd()).sum() -
           .5 * (q.mean().dot(precision_ * q.mean()) + (precision_ * root).cwiseProduct(root).sum()) +
           .5 * (q.log_determinant() +
                 static_cast<double>(q.dimension()) * (1 + std::log(2 * std::numbers::pi)));
  }

  Gaussian best() const {
    const Index m = counts_.size();
    Vector mean = Vector::Zero(m);
    Vector sd = Vector::Zero(m);
    Matrix sigma;
    for (int k = 0; k < 60; ++k) {
      const Vector rate = rates(mean, sd);
      const Eigen::LLT<Matrix> llt(precision_ + Matrix(rate.asDiagonal()));
      mean += llt.solve(counts_ - rate - precision_ * mean);
      sigma = llt.solve(Matrix::Identity(m, m));
      sd = sigma.diagonal().cwiseSqrt();
    }
    return Gaussian::dense(mean, Eigen::LLT<Matrix>(sigma).matrixL());
  }

 private:
  static Vector rates(const Vector& mean, const Vector& sd) {
    return (mean.array() + .5 * sd.array().square()).exp();
  }

  Vector counts_;
  Matrix precision_;
};

TEST(FitAutoHierarchical, AStateSpaceModelGetsFullRankAndIsWithinThePromise) {
  constexpr Index kSize = 200;
  const CountsOfAWalk walk(kSize);
  FitOptions options;
  options.starts = 1;
  options.diagnostic_draws = 400;
  const FitResult result = fit(walk.model(), options);
  EXPECT_EQ(result.stopped, StopReason::kConverged) << result.stop_detail;
  EXPECT_EQ(result.posterior.kind(), GaussianKind::kFullRank);
  EXPECT_EQ(result.rank_path.back().rank, kSize);
  const Gaussian best = walk.best();
  EXPECT_LT(walk.elbo(result.posterior), walk.elbo(best) + 1e-6);
  EXPECT_GT(walk.elbo(result.posterior), walk.elbo(best) - promised_nats(kSize));
  EXPECT_LT((result.posterior.sd().array() / best.sd().array()).log().abs().maxCoeff(), .1);
}

// Neighbours with correlation .95 and scales from 1e-3 to 1e3: no few factors have them.
TEST(FitAutoHierarchical, AChainGetsFullRank) {
  FitOptions options;
  options.starts = 1;
  options.diagnostic_draws = 400;
  const FitResult result = fit(targets::chain(160), options);
  EXPECT_EQ(result.stopped, StopReason::kConverged) << result.stop_detail;
  EXPECT_EQ(result.posterior.rank(), 160);
  EXPECT_NEAR(result.elbo, 0, promised_nats(160));
}

// 150 coefficients of 200 rows correlate in as many ways: no few factors have these, with draws or without.
TEST(FitAutoHierarchical, AWideRegressionGetsFullRank) {
  const RowMatrix x = test::design(200, 150, 2);
  const Regression model =
      test::regression(test::Kind::logistic, Design::own(x), test::responses(test::Kind::logistic, x, 3),
                       NormalPriorOptions{});
  FitOptions options;
  options.diagnostic_draws = 100;
  const FitResult full = fit(model, options);
  EXPECT_EQ(full.posterior.kind(), GaussianKind::kFullRank);
  EXPECT_EQ(full.rank_path.back().rank, 150);
  options.rank = 16;
  EXPECT_GT(full.elbo, fit(model, options).elbo + 10);
}

// A mean with 300 observed deviations from it: one factor has all correlations, and more would only cost.
TEST(FitAutoHierarchical, OneCommonMeanNeedsOneFactor) {
  constexpr Index kSize = 300;
  const Matrix covariance = Matrix::Identity(kSize, kSize) + Matrix::Ones(kSize, kSize);
  FitOptions options;
  options.starts = 1;
  options.diagnostic_draws = 400;
  const FitResult result = fit(test::gaussian_target(Vector::Zero(kSize), covariance, 0), options);
  EXPECT_EQ(result.posterior.rank(), 1);
  EXPECT_TRUE(result.trusted);
}

/// Normals around (-3, ..., -3) with a narrower scale, and around (3, ..., 3) with ten times the mass.
auto unequal_modes(Index m) {
  return make_model(m, [m](ConstVectorRef theta, VectorRef gradient) {
    constexpr double kNarrow = .5;
    const double wide = std::log(10.) - .5 * (theta.array() - 3).square().sum();
    const double narrow = -.5 * (theta.array() + 3).square().sum() / (kNarrow * kNarrow) -
                          static_cast<double>(m) * std::log(kNarrow);
    const double top = std::max(wide, narrow);
    const double sum = std::exp(wide - top) + std::exp(narrow - top);
    const double share = std::exp(wide - top) / sum;
    gradient = -(theta.array() - 3) * share - (theta.array() + 3) / (kNarrow * kNarrow) * (1 - share);
    return top + std::log(sum);
  });
}

// The narrow mode has the higher density by far: 20 log 2 - log 10 = 11.6 nats.
TEST(FitAutoHierarchical, TheModeWithMoreMassWins) {
  constexpr Index kSize = 20;
  for (const double start : {0., 3.})
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      FitOptions options;
      options.init = Vector::Constant(kSize, start);
      options.seed = seed;
      options.starts = 12;
      options.diagnostic_draws = 400;
      const FitResult result = fit(unequal_modes(kSize), options);
      EXPECT_NEAR(result.posterior.mean()(0), 3, .2) << start << ' ' << seed;
    }
}

// From far too wide a start the rates overflow; whatever is thrown away on the way, the ELBO of what would be
// returned never falls by more than the noise of a batch allows.
TEST(FitAutoHierarchical, ARefinementIsNeverMuchWorseThanWhereItWas) {
  constexpr Index kSize = 150;
  const CountsOfAWalk walk(kSize);
  const auto model = walk.model();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Evaluator evaluator(model, 1);
    GaussianStart start{Vector::Constant(kSize, 2), make_full_rank(.25 * Matrix::Identity(kSize, kSize)),
                        nullptr};
    Refinement refinement(evaluator, std::move(start), seed, promised_nats(kSize));
    const double first = walk.elbo(refinement.posterior());
    double highest = first;
    for (int k = 0; k < 60 && refinement.status() == RefinementStatus::kRunning; ++k) {
      refinement.step();
      const double elbo = walk.elbo(refinement.posterior());
      EXPECT_GT(elbo, highest - 20) << seed << ' ' << k;
      highest = std::max(highest, elbo);
    }
    EXPECT_GT(highest, first + 1000);
  }
}

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
TEST(FitAutoHierarchical, ManyGroupsWithFewDataHaveTheirSd) {
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

TEST(FitAutoHierarchical, SpeciesThatWereNotSeenLeaveTheScaleRight) {
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
  const auto count = static_cast<double>(groups.y.size());
  double mass = 0, first = 0, second = 0;
  for (double t = -15; t < 3; t += .005) {
    const double sd = std::exp(t), total = sd * sd + groups.noise;
    const double precision = .25 + count / total, mu = groups.y.sum() / total / precision;
    const double weight =
        std::exp(t - .5 * sd * sd - .5 * count * std::log(total) - .5 * std::log(precision) -
                 .5 * groups.y.squaredNorm() / total + .5 * precision * mu * mu);
    mass += weight;
    first += weight * sd;
    second += weight * sd * sd;
  }
  first /= mass;
  return {first, std::sqrt(second / mass - first * first)};
}

TEST(FitAutoHierarchical, CentredGroupsOfASmallSdAreFollowedIntoItsTail) {
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

// Its means and sds may be those of chains: that does not make its draws draws of the posterior. Of a
// mixture with 97 parameters that is near the posterior the mean log weight is a nat or so below the median.
TEST(FitAutoHierarchical, NoPartOfWhatIsTrustedIsFarFromThePosterior) {
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
