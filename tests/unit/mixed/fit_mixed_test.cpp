// Fits and resampled draws against posteriors that a grid gives.
#include <gtest/gtest.h>

#include <cmath>

#include "magva/diagnostics.hpp"
#include "unit/mixed/simulated.hpp"

namespace magva {
namespace {

// Subjects with seven binary observations each: where joint Gaussians and Laplace's method put the sd a whole
// posterior sd too low.
std::unique_ptr<const MixedModel> subjects(Index count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const Index rows = 7 * count;
  MixedData data{Design::own(RowMatrix(RowMatrix::Ones(rows, 1))), Vector(rows), {}, {}, {}, {}, {}, {}};
  GroupTerm term;
  term.name = "subject";
  term.levels = mixed_test::level_names(count);
  for (Index g = 0; g < count; ++g) {
    const double eta = -.5 + normal(generator);
    for (Index i = 0; i < 7; ++i) {
      data.response(7 * g + i) = uniform(generator) < 1 / (1 + std::exp(-eta)) ? 1 : 0;
      term.group.push_back(static_cast<std::int32_t>(g));
    }
  }
  data.terms = {term};
  MixedPriors priors = mixed_test::weak_priors(data);
  return make_mixed(std::move(data), std::move(priors),
                    make_response_family(Distribution::bernoulli, Link::logit, {}));
}

struct Moments {
  double mean, sd;
};

// Mean and sd of a coordinate on a grid of the two parameters around a Gaussian.
Moments on_a_grid(const MixedModel& model, const Gaussian& around, Index coordinate) {
  const Index side = 25;
  const double reach = 5;
  Matrix theta(2, side * side);
  for (Index i = 0; i < side; ++i)
    for (Index j = 0; j < side; ++j) {
      const Vector z = Vector(Eigen::Vector2d(static_cast<double>(i), static_cast<double>(j))) *
                           (2 * reach / static_cast<double>(side - 1)) -
                       Vector::Constant(2, reach);
      theta.col(i * side + j) = around.mean() + around.sd().cwiseProduct(z);
    }
  const Vector log_density = log_densities(model.model(), theta);
  const Vector weight = (log_density.array() - log_density.maxCoeff()).exp();
  const Vector at = theta.row(coordinate).transpose();
  const double mean = weight.dot(at) / weight.sum();
  return {mean, std::sqrt(weight.dot((at.array() - mean).square().matrix()) / weight.sum())};
}

TEST(FitMixed, BinaryObservationsOfManySubjects) {
  const auto model = subjects(100, 11);
  FitOptions options;
  options.diagnostic_draws = 500;
  const Index draws = 500;
  const MixedPosterior fit = fit_mixed(*model, draws, options);
  EXPECT_TRUE(fit.fit.trusted);
  ASSERT_TRUE(fit.draws.resampled);
  for (Index k = 0; k < 2; ++k) {
    const Moments exact = on_a_grid(*model, fit.fit.posterior, k);
    const double mean = fit.draws.theta.row(k).mean();
    const double sd = std::sqrt((fit.draws.theta.row(k).array() - mean).square().mean());
    // The Monte Carlo error of 500 draws resampled from 2000, at 2.5 standard errors of an independent
    // sample.
    EXPECT_NEAR(mean, exact.mean, 2.5 * exact.sd / std::sqrt(static_cast<double>(draws)));
    EXPECT_NEAR(sd / exact.sd, 1, .1);
    EXPECT_NEAR(fit.fit.posterior.mean()(k), exact.mean, .3 * exact.sd);
  }
}

TEST(FitMixed, GaussianResponseWithAnSdNearZero) {
  std::mt19937_64 generator(12);
  std::normal_distribution<double> normal;
  const Index rows = 80;
  MixedData data{Design::own(RowMatrix(RowMatrix::Ones(rows, 1))), Vector(rows), {}, {}, {}, {}, {}, {}};
  for (Index i = 0; i < rows; ++i) data.response(i) = 3 + normal(generator);
  data.terms = {mixed_test::random_term("g", rows, 8, 1, generator)};
  const auto model = make_mixed(data, mixed_test::weak_priors(data));
  const MixedPosterior fit = fit_mixed(*model, 400);
  ASSERT_TRUE(fit.draws.resampled) << fit.method;
  Workers workers(1);
  const Matrix population = model->draw_population(fit.draws.theta, 1, workers);
  // The sd is about zero; the intercept's posterior is that of a mean, 3 +- 1 / sqrt(80), at 5 standard
  // errors.
  EXPECT_LT(population.row(2).mean(), .4);
  EXPECT_NEAR(population.row(0).mean(), 3, 5 / std::sqrt(80.0));
  EXPECT_NEAR(population.row(1).mean(), 1, .35);
}

}  // namespace
}  // namespace magva
