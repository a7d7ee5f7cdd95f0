// Checks of a fit against closed forms and simulated data of known faults.
#include "magva/check.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "magva/error.hpp"

namespace magva {
namespace {

Vector standard_normals(Index n, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  return Vector::NullaryExpr(n, [&](Index) { return normal(generator); });
}

/// y_i ~ N(mu, 1) with a flat prior of mu: the posterior is N(mean, 1 / n), and y_i given the others is
/// N(mean of the others, 1 + 1 / (n - 1)).
struct NormalMean {
  explicit NormalMean(Index n) : y(standard_normals(n, 3)) {}
  Vector draws(Index count) const {
    return y.mean() + standard_normals(count, 4).array() / std::sqrt(static_cast<double>(y.size()));
  }
  Matrix log_likelihood(ConstVectorRef mu) const {
    return Matrix::NullaryExpr(y.size(), mu.size(),
                               [&](Index i, Index s) { return log_normal(y(i), mu(s), 1); });
  }
  Vector exact_elpd() const {
    const auto n = static_cast<double>(y.size());
    return y.unaryExpr(
        [&](double one) { return log_normal(one, (y.sum() - one) / (n - 1), 1 + 1 / (n - 1)); });
  }
  static double log_normal(double x, double mean, double variance) {
    return -.5 * std::log(2 * M_PI * variance) - .5 * (x - mean) * (x - mean) / variance;
  }
  Vector y;
};

// The error of a row is that of a mean over 4000 nearly independent draws.
TEST(PsisLoo, MeetsTheClosedForm) {
  const NormalMean model(40);
  const LooResult loo = psis_loo(model.log_likelihood(model.draws(4000)));
  EXPECT_LT((loo.elpd_rows - model.exact_elpd()).cwiseAbs().maxCoeff(), .02);
  EXPECT_NEAR(loo.elpd, model.exact_elpd().sum(), .15);
  EXPECT_EQ(loo.rows, 40);
  EXPECT_EQ(loo.high_k, 0);
  EXPECT_NEAR(loo.threshold, .7, 1e-12);
  // lppd - elpd of the closed forms.
  double lppd = 0;
  for (const double one : model.y) lppd += NormalMean::log_normal(one, model.y.mean(), 1 + 1. / 40);
  EXPECT_NEAR(loo.p_loo, lppd - model.exact_elpd().sum(), .1);
}

// Draws of a Gaussian that is too wide, with importance weights, are as good.
TEST(PsisLoo, WeightsCorrectDrawsOfAnotherGaussian) {
  const NormalMean model(40);
  const double sd = 1.5 / std::sqrt(40.0);
  const Vector mu = (model.y.mean() + .05) + sd * standard_normals(8000, 5).array();
  const Vector log_weights = mu.unaryExpr([&](double one) {
    return NormalMean::log_normal(one, model.y.mean(), 1. / 40) -
           NormalMean::log_normal(one, model.y.mean() + .05, sd * sd);
  });
  const LooResult loo = psis_loo(model.log_likelihood(mu), log_weights);
  EXPECT_LT((loo.elpd_rows - model.exact_elpd()).cwiseAbs().maxCoeff(), .02);
}

// Draws that are far too narrow: no row is to blame for what their weights are.
TEST(PsisLoo, WeightsThatAreTooLargeAreNotBlamedOnRows) {
  const NormalMean model(40);
  const double sd = .4 / std::sqrt(40.0);
  const Vector mu = (model.y.mean() + .2) + sd * standard_normals(4000, 5).array();
  const Vector log_weights = mu.unaryExpr([&](double one) {
    return NormalMean::log_normal(one, model.y.mean(), 1. / 40) -
           NormalMean::log_normal(one, model.y.mean() + .2, sd * sd);
  });
  const LooResult loo = psis_loo(model.log_likelihood(mu), log_weights);
  EXPECT_EQ(loo.high_k, 40);
  EXPECT_NE(loo.describe().find("whatever row is left out"), std::string::npos) << loo.describe();
}

TEST(PsisLoo, DifferencesArePaired) {
  const Vector a = standard_normals(30, 6);
  const Vector b = a.array() - .5;
  const LooDifference difference = compare_loo(a, b);
  EXPECT_NEAR(difference.elpd, 15, 1e-12);
  EXPECT_NEAR(difference.se, 0, 1e-10);
  EXPECT_THROW(compare_loo(a, b.head(3)), UsageError);
  EXPECT_THROW(psis_loo(Matrix(3, 1)), UsageError);
}

TEST(PsisLoo, AResponseThatDrawsCallImpossibleIsSaid) {
  const NormalMean model(5);
  Matrix log_likelihood = model.log_likelihood(model.draws(1000));
  const Index high_before = psis_loo(log_likelihood).high_k;
  log_likelihood(2, 7) = -std::numeric_limits<double>::infinity();
  const LooResult loo = psis_loo(log_likelihood);
  EXPECT_EQ(loo.high_k, high_before + 1);
  EXPECT_EQ(loo.elpd_rows(2), -std::numeric_limits<double>::infinity());
}

/// Data of one family and draws of another, whose linear predictors are known but for a little noise.
struct Simulated {
  Simulated(Distribution data_family, Distribution model_family, double log_shape, Index n = 600)
      : eta(standard_normals(n, 11).array() * .5 + 1.5), response(n) {
    const auto truth = family_of(data_family);
    std::mt19937_64 generator(12);
    for (Index i = 0; i < n; ++i) response(i) = truth->simulate(eta(i), &log_shape, 1, generator);
    input.family = family_of(model_family);
    input.rows = {response.data(), nullptr, nullptr, n};
    input.own = Matrix::Constant(input.family->own_count(), kDraws, log_shape);
    input.predictor = [this](Index first, MatrixRef out) {
      for (Index s = 0; s < out.cols(); ++s)
        out.col(s) = eta.segment(first, out.rows()).array() + .02 * std::sin(static_cast<double>(s));
    };
  }
  std::shared_ptr<const ResponseFamily> family_of(Distribution family) const {
    return make_response_family(family, default_link(family), default_own_parameters(family, eta));
  }
  static constexpr Index kDraws = 200;
  Vector eta;
  Vector response;
  CheckInput input;
};

TEST(FitChecks, TheRightModelPasses) {
  for (const Distribution family :
       {Distribution::poisson, Distribution::negative_binomial, Distribution::gamma, Distribution::weibull,
        Distribution::gaussian, Distribution::exponential, Distribution::bernoulli}) {
    const Simulated simulated(family, family, .3);
    Workers workers(1);
    const FitCheck check = check_fit(simulated.input, workers);
    EXPECT_NEAR(check.coverage.inside50, .5, 4 * check.coverage.se50) << to_string(family);
    EXPECT_NEAR(check.coverage.inside90, .9, 4 * check.coverage.se90) << to_string(family);
    EXPECT_NEAR(check.pit.mean(), .5, 4 * std::sqrt(1. / 12 / 600)) << to_string(family);
    EXPECT_EQ(check.histogram.observed.sum(), 600) << to_string(family);
    // The largest bin's count is a sum of 600 indicators.
    Index largest = 0;
    const double most = check.histogram.observed.maxCoeff(&largest);
    EXPECT_NEAR(check.histogram.median(largest), most, 5 * std::sqrt(most)) << to_string(family);
    EXPECT_EQ(check.dispersion.value_or(Dispersion{}).advice, "") << to_string(family);
    EXPECT_EQ(check.dispersion.has_value(), family != Distribution::weibull &&
                                                family != Distribution::gaussian &&
                                                family != Distribution::bernoulli);
    EXPECT_EQ(check.describe().find("does not fit"), std::string::npos) << check.describe();
  }
}

// Ordered classes by their family, unordered ones by probabilities that vary by row and a little by draw.
TEST(FitChecks, TheRightModelOfClassesPasses) {
  constexpr Index kRows = 600, kSamples = 200, kClasses = 3;
  const auto family = make_ordered_family(kClasses);
  const Vector cuts = (Vector(2) << -.6, .7).finished();
  std::mt19937_64 generator(13);
  Vector response(kRows);
  const auto eta = [](Index i, Index s) {
    return std::sin(static_cast<double>(i)) + .02 * std::sin(static_cast<double>(s));
  };
  for (Index i = 0; i < kRows; ++i) response(i) = family->simulate(eta(i, 0), cuts.data(), 1, generator);
  CheckInput ordered;
  ordered.family = family;
  ordered.rows = {response.data(), nullptr, nullptr, kRows};
  ordered.own = cuts.replicate(1, kSamples);
  ordered.predictor = [&](Index first, MatrixRef out) {
    for (Index s = 0; s < out.cols(); ++s)
      for (Index i = 0; i < out.rows(); ++i) out(i, s) = eta(first + i, s);
  };
  CheckInput unordered;
  unordered.rows = ordered.rows;
  unordered.own = Matrix(0, kSamples);
  unordered.classes = kClasses;
  unordered.probabilities = [&](Index first, MatrixRef out) {
    for (Index s = 0; s < kSamples; ++s)
      for (Index i = 0; i < out.rows(); ++i)
        for (Index k = 0; k < kClasses; ++k) {
          const double y = static_cast<double>(k), at = eta(first + i, s);
          out(i, s * kClasses + k) =
              family->cdf(y, at, cuts.data(), 1) - family->cdf(y - 1, at, cuts.data(), 1);
        }
  };
  Workers workers(1);
  const FitCheck one = check_fit(ordered, workers), other = check_fit(unordered, workers);
  for (const FitCheck* check : {&one, &other}) {
    EXPECT_NEAR(check->coverage.inside50, .5, 4 * check->coverage.se50);
    EXPECT_NEAR(check->coverage.inside90, .9, 4 * check->coverage.se90);
    EXPECT_EQ(check->histogram.observed.size(), kClasses);
    EXPECT_FALSE(check->dispersion.has_value());
  }
  // The same distributions in two ways.
  EXPECT_NEAR(one.loo.elpd, other.loo.elpd, 1e-9 * std::abs(one.loo.elpd));
  EXPECT_LT((one.mean - other.mean).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_LT((one.sd - other.sd).cwiseAbs().maxCoeff(), 1e-12);
}

// A weight is a factor of the row's log likelihood: two rows in one, or none.
TEST(FitChecks, RowsCountByTheirWeights) {
  Simulated simulated(Distribution::poisson, Distribution::poisson, .3);
  Workers workers(1);
  const FitCheck plain = check_fit(simulated.input, workers);
  Vector weights = Vector::Ones(600);
  simulated.input.row_weights = weights.data();
  EXPECT_EQ(check_fit(simulated.input, workers).loo.elpd, plain.loo.elpd);
  weights.tail(300).setZero();
  const FitCheck half = check_fit(simulated.input, workers);
  EXPECT_DOUBLE_EQ(half.loo.elpd, plain.loo.elpd_rows.head(300).sum());
  EXPECT_NEAR(half.coverage.se50, std::sqrt(.25 / 300), 1e-12);
  const auto first = plain.pit.head(300).array();
  const auto inside = static_cast<double>((first >= .25 && first <= .75).count());
  EXPECT_NEAR(half.coverage.inside50, inside / 300, 1e-12);
  weights.setConstant(2);
  const FitCheck twice = check_fit(simulated.input, workers);
  const auto rows = simulated.input.distributions(0, 64);
  const LooResult direct = psis_loo(2 * rows->log_likelihoods());
  EXPECT_LT((twice.loo.elpd_rows.head(64) - direct.elpd_rows).cwiseAbs().maxCoeff(), 1e-9);
}

TEST(FitChecks, OverdispersedCountsAreSaidWithTheFamilyToTry) {
  const Simulated simulated(Distribution::negative_binomial, Distribution::poisson, .3);
  Workers workers(1);
  const FitCheck check = check_fit(simulated.input, workers);
  ASSERT_TRUE(check.dispersion);
  EXPECT_GT(check.dispersion->ratio, 2);
  EXPECT_EQ(check.dispersion->p_value, 0);
  EXPECT_NE(check.dispersion->advice.find("negbinomial"), std::string::npos) << check.dispersion->advice;
  EXPECT_GT(check.dispersion->zeros_observed, check.dispersion->zeros_predicted);
  EXPECT_NE(check.describe().find("does not fit"), std::string::npos) << check.describe();
}

TEST(FitChecks, ResultsDoNotDependOnTheNumberOfThreads) {
  const Simulated simulated(Distribution::poisson, Distribution::poisson, 0);
  Workers one(1);
  Workers three(3);
  const FitCheck a = check_fit(simulated.input, one);
  const FitCheck b = check_fit(simulated.input, three);
  EXPECT_EQ(a.pit, b.pit);
  EXPECT_EQ(a.loo.elpd_rows, b.loo.elpd_rows);
  EXPECT_EQ(a.dispersion->ratio, b.dispersion->ratio);
}

TEST(FitChecks, CensoredRowsKeepTheirUniformPit) {
  Simulated simulated(Distribution::exponential, Distribution::exponential, 0, 2000);
  Vector status = Vector::Ones(2000);
  for (Index i = 0; i < 2000; ++i)
    if (simulated.response(i) > 6) {
      simulated.response(i) = 6;
      status(i) = 0;
    }
  simulated.input.rows.status = status.data();
  Workers workers(1);
  const FitCheck check = check_fit(simulated.input, workers);
  EXPECT_NEAR(check.coverage.inside50, .5, 4 * check.coverage.se50);
  EXPECT_NEAR(check.coverage.inside90, .9, 4 * check.coverage.se90);
  EXPECT_FALSE(check.dispersion);
}

}  // namespace
}  // namespace magva
