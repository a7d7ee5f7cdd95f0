// Mixtures over hyper-parameters, against hierarchical posteriors whose moments are known by quadrature.
#include "mixture/fit_mixture.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "magva/fit.hpp"
#include "mixture/hyper_parameters.hpp"
#include "mixture/spline.hpp"
#include "support/targets.hpp"

namespace magva {
namespace {

/// Means y_g of some observations of group g, with known variance: y_g ~ N(mu + sd z_g, noise), z_g ~ N(0,
/// 1), mu ~ N(0, 4), sd ~ half-normal(1). theta = (mu, log sd, z).
struct Groups {
  Vector y;
  double noise;

  auto model() const {
    return make_model(y.size() + 2, [y = y, noise = noise](ConstVectorRef theta, VectorRef gradient) {
      const double sd = std::exp(theta(1));
      const auto z = theta.tail(y.size());
      const Vector left = (y.array() - theta(0) - sd * z.array()) / noise;
      gradient(0) = left.sum() - theta(0) / 4;
      gradient(1) = sd * left.dot(z) - sd * sd + 1;
      gradient.tail(y.size()) = sd * left - z;
      return -.5 * (noise * left.squaredNorm() + z.squaredNorm() + theta(0) * theta(0) / 4 + sd * sd) +
             theta(1);
    });
  }
};

struct Moments {
  Vector mean, sd;
};

/// Given log sd everything is normal: sums over a grid of it.
Moments exact_moments(const Groups& groups) {
  const auto count = static_cast<double>(groups.y.size());
  const Index m = groups.y.size() + 2;
  Vector first = Vector::Zero(m), second = Vector::Zero(m);
  double mass = 0;
  for (double t = -15; t < 3; t += .005) {
    const double sd = std::exp(t);
    const double total = sd * sd + groups.noise;
    const double precision = .25 + count / total;
    const double mu = groups.y.sum() / total / precision;
    const double log_mass = t - .5 * sd * sd - .5 * count * std::log(total) - .5 * std::log(precision) -
                            .5 * groups.y.squaredNorm() / total + .5 * precision * mu * mu;
    const double weight = std::exp(log_mass);
    Vector mean(m), variance(m);
    mean << mu, t, sd / total * (groups.y.array() - mu).matrix();
    variance.setConstant(groups.noise / total + std::pow(sd / total, 2) / precision);
    variance(0) = 1 / precision;
    variance(1) = 0;
    mass += weight;
    first += weight * mean;
    second += weight * (variance + mean.cwiseAbs2());
  }
  first /= mass;
  return {first, (second / mass - first.cwiseAbs2()).cwiseSqrt()};
}

Groups simulated_groups(Index count, double sd, double noise, std::uint64_t seed) {
  const Matrix z = test::random_matrix(count, 2, seed);
  return {(.3 + sd * z.col(0).array() + std::sqrt(noise) * z.col(1).array()).matrix(), noise};
}

double worst_mean(const Posterior& q, const Moments& exact) {
  return (q.mean() - exact.mean).cwiseQuotient(exact.sd).cwiseAbs().maxCoeff();
}
double worst_sd(const Posterior& q, const Moments& exact) {
  return (q.sd().cwiseQuotient(exact.sd).array() - 1).abs().maxCoeff();
}

FitOptions gaussian_alone() {
  FitOptions options;
  options.shape = ShapeChoice::kGaussian;
  return options;
}

TEST(HyperParameters, AreThoseThatDecideHowWideOthersAre) {
  const auto groups = simulated_groups(60, .5, .3, 11).model();
  const Gaussian q = fit(groups, gaussian_alone()).posterior;
  Evaluator evaluator(groups, 1);
  EXPECT_EQ(find_hyper_parameters(evaluator, q, 1), std::vector<Index>{1});

  const Matrix root = Matrix::Identity(5, 5) + .2 * test::random_matrix(5, 5, 3);
  const auto gaussian = test::gaussian_target(Vector::Ones(5), root * root.transpose(), 0);
  Evaluator of_gaussian(gaussian, 1);
  EXPECT_TRUE(find_hyper_parameters(of_gaussian, fit(gaussian).posterior, 1).empty());
}

// The best Gaussian's sd of log sd is more than a fifth too small. Given log sd all others are normal, so
// that only the cells' constant widths are left.
TEST(FitMixture, HasTheMomentsOfAHierarchicalPosterior) {
  for (const double sd : {.2, .7}) {
    const Groups groups = simulated_groups(60, sd, .3, 11);
    const auto model = groups.model();
    const Gaussian q = fit(model, gaussian_alone()).posterior;
    const Moments exact = exact_moments(groups);
    EXPECT_GT(worst_sd(q, exact), .1) << sd;
    Evaluator evaluator(model, 1);
    const auto mixture = fit_mixture(evaluator, q, full_pattern(62), {1}, 1).mixture;
    ASSERT_NE(mixture, nullptr) << sd;
    EXPECT_LT(worst_mean(*mixture, exact), .03) << sd;
    EXPECT_LT(worst_sd(*mixture, exact), .03) << sd;
  }
}

// From a Gaussian that says sd = .02, where the mass is 40 nats lower.
TEST(FitMixture, GoesToWhereTheMassIs) {
  const Groups groups = simulated_groups(60, .7, .3, 11);
  const auto model = groups.model();
  Evaluator evaluator(model, 1);
  Vector mean = Vector::Zero(62);
  mean(1) = -4;
  Gaussian from = Gaussian::dense(mean, .5 * Matrix::Identity(62, 62));
  MixtureAttempt found = fit_mixture(evaluator, from, full_pattern(62), {1}, 1);
  ASSERT_TRUE(found.elsewhere.has_value());
  for (int k = 0; k < 4 && found.elsewhere; ++k) {
    from = *found.elsewhere;
    found = fit_mixture(evaluator, from, full_pattern(62), {1}, 1);
  }
  ASSERT_NE(found.mixture, nullptr);
  const Moments exact = exact_moments(groups);
  EXPECT_LT(worst_mean(*found.mixture, exact), .03);
  EXPECT_LT(worst_sd(*found.mixture, exact), .03);
}

// All of it, with a pattern that was found by probing gradients.
TEST(FitMixture, IsWhatTheDefaultReportsOfManyGroups) {
  const Groups groups = simulated_groups(200, .3, .5, 5);
  const FitResult result = fit(groups.model());
  const Moments exact = exact_moments(groups);
  EXPECT_STREQ(result.posterior.best().shape(), "mixture");
  EXPECT_LT(worst_mean(result.posterior.best(), exact), .05);
  EXPECT_LT(worst_sd(result.posterior.best(), exact), .05);
  EXPECT_TRUE(result.trusted);
  EXPECT_TRUE(result.warnings.empty());
  EXPECT_LT(result.khat, .7);
}

TEST(PolyharmonicSpline, GoesThroughItsPointsAndHasLinearFunctionsExactly) {
  const Matrix points = test::random_matrix(3, 20, 1);
  Matrix values(2, 20);
  values.row(0) = points.row(0).array().sin();
  values.row(1) = 1 + (points.row(1) - 2 * points.row(2)).array();
  const PolyharmonicSpline spline(points, values);
  EXPECT_LT((spline(points) - values).cwiseAbs().maxCoeff(), 1e-9);
  const Matrix elsewhere = 3 * test::random_matrix(3, 10, 2);
  const Vector linear = 1 + (elsewhere.row(1) - 2 * elsewhere.row(2)).array();
  EXPECT_LT((spline(elsewhere).row(1).transpose() - linear).cwiseAbs().maxCoeff(), 1e-8);
}

}  // namespace
}  // namespace magva
