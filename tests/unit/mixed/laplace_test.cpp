// Crossed groups: Laplace's method against its definition, and its gradient against differences.
#include <gtest/gtest.h>

#include <cmath>

#include "magva/check_gradient.hpp"
#include "unit/mixed/simulated.hpp"

namespace magva {
namespace {

using mixed_test::evaluate;

struct Crossed {
  MixedData data;
  MixedPriors priors;
  std::shared_ptr<const ResponseFamily> family;
};

Crossed crossed(Distribution distribution, double mean, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const Index rows = 80;
  Crossed out{{Design::own(mixed_test::random_design(rows, generator)), Vector(rows), {}, {}, {}, {}, {}, {}},
              {},
              {}};
  out.data.terms = {mixed_test::random_term("a", rows, 9, 2, generator),
                    mixed_test::random_term("b", rows, 6, 1, generator)};
  std::poisson_distribution<int> poisson(mean);
  for (Index i = 0; i < rows; ++i)
    out.data.response(i) =
        distribution == Distribution::bernoulli ? poisson(generator) % 2 : poisson(generator);
  out.priors = mixed_test::weak_priors(out.data);
  out.family = make_response_family(distribution, default_link(distribution),
                                    default_own_parameters(distribution, out.data.response));
  return out;
}

TEST(Laplace, GradientIsTheDerivative) {
  for (const Distribution distribution :
       {Distribution::bernoulli, Distribution::poisson, Distribution::negative_binomial}) {
    Crossed in = crossed(distribution, 2, 1);
    in.data.weights = Vector::LinSpaced(80, .5, 1.5);
    in.priors.degrees_of_freedom = Vector(2);
    in.priors.degrees_of_freedom << std::numeric_limits<double>::infinity(), 4;
    const auto model = make_mixed(in.data, in.priors, in.family);
    EXPECT_EQ(model->method(), MixedMethod::laplace);
    for (const double shift : {-.5, .2}) {
      const Vector theta =
          model->model().start() + Vector::LinSpaced(model->model().dimension(), shift, .3 - shift);
      const GradientCheck check = check_gradient(model->model(), theta, {.tolerance = 1e-5});
      EXPECT_TRUE(check.passed) << to_string(distribution) << ": " << check.sentence;
    }
  }
}

// With a single factor the coefficients' integral is Laplace's, too: at large counts both ways must agree
// with quadrature over a grid of the coefficients. Here: counts so large that the posterior given theta is
// Gaussian, so that Laplace's value is that of the gaussian model to which it tends, up to terms of order 1 /
// count.
TEST(Laplace, TendsToTheIntegralAsCountsGrow) {
  std::vector<double> errors;
  for (const double mean : {20.0, 2000.0}) {
    Crossed in = crossed(Distribution::poisson, mean, 2);
    GroupTerm intercepts = in.data.terms[1];
    in.data.design = Design::own(RowMatrix(RowMatrix(80, 0)));
    in.priors.location = in.priors.scale = Vector(0);
    in.data.offset = Vector::Constant(80, std::log(mean));
    in.data.terms = {intercepts};
    in.priors.sd_scale = {Vector::Constant(1, 2.5)};
    const auto quadrature = make_mixed(in.data, in.priors, in.family);
    // A second factor with an sd of nearly zero, crossed with the first, asks for Laplace's method.
    GroupTerm none = intercepts;
    none.name = "none";
    for (std::size_t i = 0; i < none.group.size(); ++i) none.group[i] = static_cast<std::int32_t>(i % 6);
    in.data.terms.push_back(none);
    in.priors.sd_scale.push_back(Vector::Constant(1, 2.5));
    const auto laplace = make_mixed(in.data, in.priors, in.family);
    ASSERT_EQ(laplace->method(), MixedMethod::laplace);
    const Vector one = Vector::Constant(1, -.5);
    Vector two(2);
    two << -.5, -14;
    errors.push_back(std::abs(evaluate(laplace->model(), two) -
                              PositivePrior::half_student_t(3, 2.5).at(-14).value -
                              evaluate(quadrature->model(), one)));
  }
  EXPECT_LT(errors[0], 5e-3);
  EXPECT_LT(errors[1], 2e-4);
}

// One factor of 12 groups with 6 binary rows each is integrated by quadrature; beside a factor with an sd of
// nearly zero, by Laplace's method: the terms of second order leave at most a fifth of its error.
TEST(Laplace, SecondOrderIsNearerToTheIntegral) {
  Crossed in = crossed(Distribution::bernoulli, 2, 4);
  in.data.design = Design::own(RowMatrix(RowMatrix(80, 0)));
  in.priors.location = in.priors.scale = Vector(0);
  std::mt19937_64 generator(4);
  in.data.terms = {mixed_test::random_term("a", 80, 12, 1, generator)};
  in.priors.sd_scale = {Vector::Constant(1, 2.5)};
  const auto quadrature = make_mixed(in.data, in.priors, in.family);
  in.data.terms.push_back(mixed_test::random_term("none", 80, 6, 1, generator));
  in.priors.sd_scale.push_back(Vector::Constant(1, 2.5));
  const auto laplace = make_mixed(in.data, in.priors, in.family);
  ASSERT_EQ(laplace->method(), MixedMethod::laplace);
  Workers workers(1);
  for (const double log_sd : {-.5, 0.0, .5}) {
    Vector two(2);
    two << log_sd, -14;
    const double exact = evaluate(quadrature->model(), Vector::Constant(1, log_sd)) +
                         PositivePrior::half_student_t(3, 2.5).at(-14).value;
    const double first = evaluate(laplace->model(), two) - exact;
    const double second = laplace->log_densities(two, workers)(0) - exact;
    EXPECT_LT(std::abs(second), .2 * std::abs(first)) << log_sd << ": " << first << ", " << second;
  }
}

TEST(Laplace, DrawsAreCentredAtTheMean) {
  const Crossed in = crossed(Distribution::poisson, 50, 3);
  const auto model = make_mixed(in.data, in.priors, in.family);
  Workers two(2), one(1);
  const Matrix theta = model->model().start().replicate(1, 500);
  const MixedDraws drawn = model->draw(theta, 5, two);
  EXPECT_EQ((drawn.population - model->draw(theta, 5, one).population).cwiseAbs().maxCoeff(), 0);
  // The design's first column is constant: with a mean count of 50 the predictor is near log 50.
  EXPECT_NEAR(drawn.population.row(0).mean(), std::log(50.0), .5);
  EXPECT_EQ(drawn.effects.size(), 2U);
  EXPECT_EQ(drawn.effects[0].rows(), 18);
}

}  // namespace
}  // namespace magva
