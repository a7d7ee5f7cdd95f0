// The parts of a fit by few evaluations, and smooth terms beside groups.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "magva/check_gradient.hpp"
#include "magva/diagnostics.hpp"
#include "mixed/dense_mode.hpp"
#include "mixed/student_draws.hpp"
#include "posterior/normal_quantile.hpp"
#include "unit/mixed/simulated.hpp"

namespace magva {
namespace {

TEST(StudentDraws, Quantiles) {
  for (const double p : {1e-9, .001, .02425, .3, .5, .9, .99999}) {
    EXPECT_NEAR(.5 * std::erfc(-normal_quantile(p) / std::sqrt(2.0)), p, 1e-13 + 1e-12 * p);
    // With 2 degrees of freedom chi-square is exponential; with 4, P(X > x) = (1 + x / 2) exp(-x / 2).
    EXPECT_NEAR(mixed::chi_square_quantile(p, 1), -2 * std::log1p(-p), 1e-9);
    const double x = mixed::chi_square_quantile(p, 2);
    EXPECT_NEAR(1 - (1 + .5 * x) * std::exp(-.5 * x), p, 1e-12);
  }
}

Gaussian correlated() {
  Matrix lower(3, 3);
  lower << 1, 0, 0, .5, .8, 0, -.3, .4, 2;
  return Gaussian::dense(Vector(Eigen::Vector3d(1, -2, .5)), lower);
}

// Weights q / t bring t draws back to the Gaussian: they sum to 1, and give its moments, within the standard
// error of an sd from 1400 independent draws, which 2000 draws are worth.
TEST(StudentDraws, WeightsGiveTheGaussiansMoments) {
  const Gaussian q = correlated();
  const mixed::StudentT t(q);
  const Matrix theta = t.draws(2000, 7);
  const Vector weights = (q.log_density(theta) - t.log_density(theta)).array().exp() / 2000.0;
  EXPECT_NEAR(weights.sum(), 1, .01);
  const Vector mean = theta * weights / weights.sum();
  EXPECT_LT((mean - q.mean()).cwiseAbs().maxCoeff(), 1e-12);  // pairs are antithetic
  const Matrix centred = theta.colwise() - mean;
  const Vector variance = (centred.cwiseAbs2() * weights) / weights.sum();
  for (Index i = 0; i < 3; ++i) EXPECT_NEAR(std::sqrt(variance(i)) / q.sd()(i), 1, 1 / std::sqrt(2 * 1400.0));
}

Gaussian wide_log_sd() {
  Matrix factor(2, 2);
  factor << .8, 0, -.3, .6;
  return Gaussian::dense(Vector::LinSpaced(2, -.7, .2), factor);
}

// The first coordinate is the logarithm of an sd that may be zero.
TEST(StudentT, IsNormalisedIfFolded) {
  const mixed::StudentT t(wide_log_sd(), {0});
  double sum = 0;
  constexpr double kStep = .04;
  for (double x = -20; x < 8; x += kStep) {
    Matrix column(2, 1000);
    for (Index k = 0; k < 1000; ++k) column.col(k) << x, -20 + kStep * static_cast<double>(k);
    sum += kStep * kStep * t.log_density(column).array().exp().sum();
  }
  EXPECT_NEAR(sum, 1, .002);  // what is outside the square
}

/// The root mean square error, over seeds, of the mean of s ~ N(.5, .25^2) given s > 0, beside six standard
/// normal coordinates: from 512 draws around the mode of log s, with the curvature there.
double error_of_sd(const std::vector<Index>& log_sds) {
  constexpr Index kDimension = 7;
  constexpr int kSeeds = 20;
  const double mode = .25 + std::sqrt(.0625 + .0625), curvature = mode * (2 * mode - .5) / .0625;
  Vector mean = Vector::Zero(kDimension), sd = Vector::Ones(kDimension);
  mean(0) = std::log(mode);
  sd(0) = 1 / std::sqrt(curvature);
  const mixed::StudentT t(Gaussian::dense(mean, Matrix(sd.asDiagonal())), log_sds);
  const double expected = .5 + .25 * .0539910 / .9772499;  // phi(2) / Phi(2)
  double squares = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const Matrix theta = t.draws(512, static_cast<std::uint64_t>(seed));
    const Vector s = theta.row(0).array().exp(), others = theta.bottomRows(6).colwise().squaredNorm();
    const Vector log_p =
        theta.row(0).transpose().array() - .5 * ((s.array() - .5) / .25).square() - .5 * others.array();
    const Vector weights = (log_p - t.log_density(theta)).array().exp();
    squares += std::pow(weights.dot(s) / weights.sum() - expected, 2) / kSeeds;
  }
  return std::sqrt(squares);
}

// Draws are worth 250 or so, and the sd of s is .235.
TEST(StudentT, FoldedDrawsFollowAnSdToZero) {
  const double folded = error_of_sd({0});
  EXPECT_LT(folded, 2 * .235 / std::sqrt(250.0));
  EXPECT_LT(folded, error_of_sd({}));
}

TEST(DenseMode, FindsTheModeAndCurvatureOfASkewedDensityFromAfar) {
  // theta_0 is the logarithm of a gamma variable, theta_1 normal around it with a small sd.
  const auto model = make_model(2, [](ConstVectorRef theta, VectorRef gradient) {
    const double shape = 6, precision = 400, d = theta(1) - theta(0);
    gradient(0) = shape - std::exp(theta(0)) + precision * d;
    gradient(1) = -precision * d;
    return shape * theta(0) - std::exp(theta(0)) - .5 * precision * d * d;
  });
  Evaluator evaluator(model, 1);
  const mixed::DenseMode found =
      mixed::find_dense_mode(evaluator, Vector(Eigen::Vector2d(-4, 5)), Vector::Ones(2));
  EXPECT_TRUE(found.converged);
  EXPECT_LT(evaluator.evaluations(), 60);
  EXPECT_NEAR(found.theta(0), std::log(6.0), .02);
  EXPECT_NEAR(found.theta(1), std::log(6.0), .02);
  // Minus the second derivatives: [6 + 400, -400; -400, 400], taken half an sd around the mode.
  Matrix expected(2, 2);
  expected << 406, -400, -400, 400;
  const Vector ratio =
      Eigen::GeneralizedSelfAdjointEigenSolver<Matrix>(found.precision, expected, Eigen::EigenvaluesOnly)
          .eigenvalues();
  EXPECT_NEAR(ratio(0), 1, .05);
  EXPECT_NEAR(ratio(1), 1, .05);
}

TEST(MixedModel, LogDensitiesAreThoseOfEvaluate) {
  std::mt19937_64 generator(3);
  for (const Distribution distribution : {Distribution::gaussian, Distribution::poisson})
    for (const int terms : {1, 2}) {
      const Index rows = 60;
      MixedData data{
          Design::own(mixed_test::random_design(rows, generator)), Vector(rows), {}, {}, {}, {}, {}, {}};
      std::poisson_distribution<int> poisson(3);
      for (double& y : data.response) y = poisson(generator);
      for (int k = 0; k < terms; ++k)
        data.terms.push_back(mixed_test::random_term(k == 0 ? "a" : "b", rows, 7, 1, generator));
      MixedPriors priors = mixed_test::weak_priors(data);
      priors.degrees_of_freedom = Vector::Constant(2, 4.0);
      const auto model =
          make_mixed(data, priors,
                     make_response_family(distribution, default_link(distribution),
                                          default_own_parameters(distribution, data.response)));
      Matrix theta = model->model().start().replicate(1, 3);
      theta.col(1).array() += .3;
      theta.col(2).array() -= .2;
      Workers workers(2);
      const Vector values = model->log_densities(theta, workers);
      // By Laplace's method it has terms of second order, which model() leaves out: here small ones.
      // Quadrature has rules for values that are right to about 1e-4 for each of the 7 groups
      // (Accuracy::value).
      const double of_quadrature = model->method() == MixedMethod::quadrature ? 7 * 2e-4 : 0;
      const double bound =
          model->method() == MixedMethod::laplace ? .3 : of_quadrature + 1e-9 * std::abs(values(0));
      for (Index s = 0; s < 3; ++s)
        EXPECT_NEAR(values(s), mixed_test::evaluate(model->model(), theta.col(s)), bound);
      EXPECT_EQ(model->units().size(), model->model().dimension());
    }
}

/// A design of an intercept, a line and three columns that bend it.
MixedData bent(Distribution distribution, int terms, std::mt19937_64& generator) {
  const Index rows = 60;
  std::normal_distribution<double> normal;
  RowMatrix x = RowMatrix::Ones(rows, 5);
  for (Index i = 0; i < rows; ++i)
    for (Index j = 1; j < 5; ++j) x(i, j) = normal(generator);
  MixedData data{Design::own(std::move(x)), Vector(rows), {}, {}, {}, {}, {}, {}};
  std::poisson_distribution<int> poisson(2);
  for (double& y : data.response)
    y = distribution == Distribution::gaussian ? 20 + normal(generator) : poisson(generator);
  for (int k = 0; k < terms; ++k)
    data.terms.push_back(mixed_test::random_term(k == 0 ? "a" : "b", rows, 6, 1, generator));
  return data;
}

// In closed form, by quadrature and by Laplace's method.
TEST(SmoothBesideGroups, GradientsAreDerivatives) {
  std::mt19937_64 generator(8);
  for (const auto& [distribution, terms] :
       {std::pair{Distribution::gaussian, 1}, std::pair{Distribution::poisson, 1},
        std::pair{Distribution::poisson, 2}, std::pair{Distribution::gaussian, 0},
        std::pair{Distribution::poisson, 0}}) {
    const MixedData data = bent(distribution, terms, generator);
    MixedPriors priors = mixed_test::weak_priors(data);
    priors.location(0) = distribution == Distribution::gaussian ? 18 : 0;
    priors.degrees_of_freedom = Vector::Constant(5, std::numeric_limits<double>::infinity());
    priors.degrees_of_freedom(1) = 4;
    priors.smooths = {{"s(x)", 2, 3, 1.5}};
    const auto model = make_mixed(data, priors,
                                  make_response_family(distribution, default_link(distribution),
                                                       default_own_parameters(distribution, data.response)));
    EXPECT_EQ(model->population_names().back(), "sd(s(x))");
    for (const double shift : {-.4, .3}) {
      const Vector theta =
          model->model().start() + Vector::LinSpaced(model->model().dimension(), shift, .2 - .5 * shift);
      const GradientCheck check = check_gradient(model->model(), theta, {.tolerance = 1e-5});
      EXPECT_TRUE(check.passed) << model->describe() << ": " << check.sentence;
    }
  }
}

// With a gaussian response a smooth term is a group term with one group, whose effects have one sd: the same
// density as that of coefficients with a fixed prior of this sd, and the prior of the sd.
TEST(SmoothBesideGroups, IsAPriorWithAnUnknownSd) {
  std::mt19937_64 generator(9);
  const MixedData data = bent(Distribution::gaussian, 1, generator);
  MixedPriors fixed = mixed_test::weak_priors(data);
  MixedPriors smooth = fixed;
  smooth.smooths = {{"s(x)", 2, 3, 1.5}};
  const double log_sd = -.7;
  fixed.scale.tail(3).setConstant(std::exp(log_sd));
  const auto with_fixed = make_mixed(data, fixed), with_smooth = make_mixed(data, smooth);
  const Vector theta = with_fixed->model().start();
  Vector longer(theta.size() + 1);
  longer << theta, log_sd;
  EXPECT_NEAR(mixed_test::evaluate(with_smooth->model(), longer),
              mixed_test::evaluate(with_fixed->model(), theta) +
                  PositivePrior::half_student_t(3, 1.5).at(log_sd).value,
              1e-8);
}

// Group effects with an sd of nearly zero leave the smooth term alone, and the prior of that sd. With a
// second such factor the counts are integrated by Laplace's method on both sides.
TEST(SmoothWithoutGroups, IsWhatGroupsOfNoSpreadLeave) {
  constexpr double kNone = -14;
  std::mt19937_64 generator(12);
  for (const auto& [distribution, terms] :
       {std::pair{Distribution::gaussian, 1}, std::pair{Distribution::poisson, 2}}) {
    MixedData data = bent(distribution, terms, generator);
    MixedPriors priors = mixed_test::weak_priors(data);
    priors.smooths = {{"s(x)", 2, 3, 1.5}};
    const auto family = make_response_family(distribution, default_link(distribution),
                                             default_own_parameters(distribution, data.response));
    const auto with_groups = make_mixed(data, priors, family);
    data.terms.clear();
    priors.sd_scale.clear();
    const auto alone = make_mixed(data, priors, family);
    EXPECT_EQ(alone->method(), with_groups->method());
    EXPECT_EQ(alone->describe().find("group"), std::string::npos);
    const Index own = family->own_count();
    Vector theta = Vector::Constant(own + 1, .2), longer = Vector::Constant(own + terms + 1, kNone);
    theta(own) = longer(own + terms) = -.7;
    longer.head(own).setConstant(.2);
    Workers workers(1);
    const double of_sds = terms * PositivePrior::half_student_t(3, 2.5).at(kNone).value;
    EXPECT_NEAR(alone->log_densities(theta, workers)(0) + of_sds,
                with_groups->log_densities(longer, workers)(0), 1e-6);
    const MixedDraws drawn = alone->draw(theta.replicate(1, 50), 3, workers);
    EXPECT_TRUE(drawn.population.allFinite());
    EXPECT_TRUE(drawn.effects.empty());
  }
}

}  // namespace
}  // namespace magva
