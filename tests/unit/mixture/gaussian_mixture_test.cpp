// A mixture of Gaussians as a posterior: normalised, with draws of its density, whole in files.
#include "mixture/gaussian_mixture.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "magva/error.hpp"
#include "sparse/factored_precision.hpp"
#include "support/targets.hpp"
#include "support/temporary_folder.hpp"

namespace magva {
namespace {

Gaussian dense_component(Index m, std::uint64_t seed) {
  Matrix root = .3 * test::random_matrix(m, m, seed);
  root.diagonal().array() = 1 + root.diagonal().array().abs();
  return Gaussian::dense(2 * test::random_matrix(m, 1, seed + 100), root);
}

Gaussian sparse_component(double mean, double value) {
  const auto structure = std::make_shared<const PrecisionStructure>(3, std::vector<Index>{0, 1, 2, 1},
                                                                    std::vector<Index>{0, 1, 2, 0});
  Vector values(4);
  values << 2, 3, value, .5;
  return Gaussian::sparse(Vector::Constant(3, mean),
                          FactoredPrecision::make(structure, values, Matrix(3, 0)));
}

GaussianMixture mixture_of_three(Index m) {
  Vector weights(3);
  weights << .5, 1.2, .3;
  return {{dense_component(m, 1), dense_component(m, 2), dense_component(m, 3)}, weights};
}

TEST(GaussianMixture, IsNormalised) {
  const GaussianMixture q = mixture_of_three(1);
  const Vector line = Vector::LinSpaced(20001, -20, 20);
  EXPECT_NEAR(q.log_density(line.transpose()).array().exp().sum() * (line(1) - line(0)), 1, 1e-8);
  EXPECT_NEAR(q.weights().sum(), 1, 1e-15);
}

TEST(GaussianMixture, QuantilesInvertTheDistribution) {
  const GaussianMixture q = mixture_of_three(1);
  const Vector line = Vector::LinSpaced(400'001, -20, 20);
  const Vector density = q.log_density(line.transpose()).array().exp();
  Vector probabilities(5);
  probabilities << .001, .05, .5, .8, .999;
  const Matrix found = q.quantiles(probabilities);
  for (Index k = 0; k < probabilities.size(); ++k) {
    double below = 0;
    for (Index i = 0; line(i) < found(0, k); ++i) below += density(i) * (line(1) - line(0));
    EXPECT_NEAR(below, probabilities(k), 1e-4);
  }
}

TEST(GaussianMixture, DrawsHaveItsMoments) {
  const GaussianMixture q = mixture_of_three(3);
  const Matrix theta = q.draws(40000, 4);
  EXPECT_EQ(q.draws(3, 4, 5), theta.middleCols(5, 3));
  // Five standard errors.
  EXPECT_LT((theta.rowwise().mean() - q.mean()).cwiseQuotient(q.sd()).cwiseAbs().maxCoeff(), .025);
  const Matrix centred = theta.colwise() - q.mean();
  const Matrix covariance = centred * centred.transpose() / 40000;
  for (Index i = 0; i < 3; ++i)
    for (Index j = 0; j < 3; ++j)
      EXPECT_NEAR(covariance(i, j), q.covariance_row(i)(j), .04 * q.sd()(i) * q.sd()(j));
  EXPECT_NEAR(q.covariance_row(1)(1), q.sd()(1) * q.sd()(1), 1e-12);
}

TEST(GaussianMixture, AntitheticDrawsAreMirroredInTheirComponent) {
  const GaussianMixture q = mixture_of_three(2);
  const Matrix pairs = q.antithetic_draws(50, 9);
  EXPECT_EQ(pairs.leftCols(50), q.draws(50, 9));
  for (Index j = 0; j < 50; ++j) {
    const Vector middle = .5 * (pairs.col(j) + pairs.col(j + 50));
    double least = 1;
    for (const Gaussian& component : q.components())
      least = std::min(least, (component.mean() - middle).norm());
    EXPECT_LT(least, 1e-12);
  }
}

TEST(GaussianMixture, RescaledScalesAndShifts) {
  const GaussianMixture q = mixture_of_three(3);
  const Vector centre = test::random_matrix(3, 1, 30);
  const Vector scale = test::random_matrix(3, 1, 31).cwiseAbs().array() + .1;
  const auto moved = q.rescaled(centre, scale);
  EXPECT_LT((moved->mean() - centre - scale.cwiseProduct(q.mean())).norm(), 1e-12);
  EXPECT_LT((moved->sd() - scale.cwiseProduct(q.sd())).norm(), 1e-12);
  const Matrix theta = q.draws(20, 2);
  const Matrix there = (scale.asDiagonal() * theta).colwise() + centre;
  const Vector change = moved->log_density(there) - q.log_density(theta);
  EXPECT_LT((change.array() + scale.array().log().sum()).abs().maxCoeff(), 1e-9);
}

TEST(GaussianMixture, IsWholeInAFile) {
  const test::TemporaryFolder folder;
  const auto q = std::make_shared<const GaussianMixture>(
      std::vector<Gaussian>{sparse_component(0, 4), sparse_component(1, 9)}, Vector::Ones(2));
  const Gaussian fitted = dense_component(3, 5).with_shape(q);
  fitted.save(folder.path() / "posterior", {"a", "b", "c"});
  const Gaussian loaded = load_posterior(folder.path() / "posterior").gaussian;
  EXPECT_STREQ(loaded.best().shape(), "mixture");
  EXPECT_EQ(loaded.best().mean(), q->mean());
  EXPECT_EQ(loaded.best().sd(), q->sd());
  EXPECT_EQ(loaded.best().draws(20, 3), q->draws(20, 3));
  EXPECT_EQ(loaded.mean(), fitted.mean());
}

TEST(GaussianMixture, NeedsAWeightForEachComponent) {
  EXPECT_THROW(GaussianMixture({dense_component(2, 1)}, Vector::Ones(2)), UsageError);
  EXPECT_THROW(GaussianMixture({dense_component(2, 1)}, Vector::Zero(1)), UsageError);
  EXPECT_THROW(GaussianMixture({dense_component(2, 1), dense_component(3, 1)}, Vector::Ones(2)), UsageError);
  EXPECT_THROW(GaussianMixture({}, Vector()), UsageError);
}

}  // namespace
}  // namespace magva
