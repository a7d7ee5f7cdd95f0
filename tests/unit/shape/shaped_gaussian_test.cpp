// A posterior of another shape: normalised, with draws of its density, whole in files.
#include "shape/shaped_gaussian.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "magva/error.hpp"
#include "shape/base_model.hpp"
#include "support/temporary_folder.hpp"
#include "unit/shape/shape_maps.hpp"

namespace magva {
namespace {

ShapedGaussian shaped(Index m, bool flow, std::uint64_t seed) {
  return {test::random_gaussian(m, seed),
          flow ? test::random_flow(m, 3, seed) : test::random_skewed(m, seed)};
}

/// The integral over theta = 2 sinh(t) by the trapezoidal rule in t, out to where nothing is left.
double mass(const Posterior& q, Index points) {
  const Vector t = Vector::LinSpaced(points, -6, 6);
  const Vector line = 2 * t.array().sinh();
  const Vector weight = 2 * t.array().cosh() * (t(1) - t(0));
  if (q.dimension() == 1) return weight.dot(q.log_density(line.transpose()).array().exp().matrix());
  double sum = 0;
  Matrix theta(2, points);
  theta.row(0) = line;
  for (Index k = 0; k < points; ++k) {
    theta.row(1).setConstant(line(k));
    sum += weight(k) * weight.dot(q.log_density(theta).array().exp().matrix());
  }
  return sum;
}

TEST(ShapedGaussian, IsNormalised) {
  for (const bool flow : {false, true}) {
    EXPECT_NEAR(mass(shaped(1, flow, 3), 4001), 1, 1e-6);
    // A spacing of a tenth of an sd or less where the mass is.
    EXPECT_NEAR(mass(shaped(2, flow, 5), 301), 1, 1e-4);
  }
}

TEST(ShapedGaussian, DrawsHaveItsDensityAndMoments) {
  for (const bool flow : {false, true}) {
    const ShapedGaussian q = shaped(3, flow, 7);
    const Matrix z = q.base().draws(1000, 2);
    const ShapePass pass = q.map().forward(z);
    const Matrix theta = q.draws(1000, 2);
    EXPECT_LT((theta - pass.theta).cwiseAbs().maxCoeff(), 1e-12);
    EXPECT_LT((q.log_density(theta) - q.base().log_density(z) + pass.log_det).cwiseAbs().maxCoeff(), 1e-8);
    EXPECT_EQ(q.draws(3, 2, 5), theta.middleCols(5, 3));

    const Matrix many = q.draws(40000, 4);
    const Vector sd = ((many.colwise() - many.rowwise().mean()).rowwise().squaredNorm() / 40000).cwiseSqrt();
    // Five standard errors of a mean from 40,000 draws, and of an sd of a margin with a kurtosis of 20.
    EXPECT_LT((many.rowwise().mean() - q.mean()).cwiseQuotient(sd).cwiseAbs().maxCoeff(), .025 + .03);
    EXPECT_LT((sd.cwiseQuotient(q.sd()).array() - 1).abs().maxCoeff(), .055 + .05);
    EXPECT_NEAR(q.covariance_row(1)(1), q.sd()(1) * q.sd()(1), 1e-12);

    const Matrix quantiles = q.quantiles(Vector{{.05, .5, .95}});
    for (Index i = 0; i < 3; ++i) {
      const double below = (many.row(i).array() < quantiles(i, 0)).cast<double>().mean();
      EXPECT_NEAR(below, .05, .01);  // five standard errors of both samples
      EXPECT_LT(quantiles(i, 1), quantiles(i, 2));
    }
  }
}

TEST(ShapedGaussian, RescaledScalesAndShifts) {
  const Vector centre = test::random_matrix(3, 1, 30);
  const Vector scale = test::random_matrix(3, 1, 31).cwiseAbs().array() + .1;
  for (const bool flow : {false, true}) {
    const ShapedGaussian q = shaped(3, flow, 7);
    const auto moved = q.rescaled(centre, scale);
    const Matrix theta = q.draws(20, 2);
    const Matrix there = (scale.asDiagonal() * theta).colwise() + centre;
    EXPECT_LT((moved->draws(20, 2) - there).cwiseAbs().maxCoeff(), 1e-10);
    const Vector change = moved->log_density(there) - q.log_density(theta);
    EXPECT_LT((change.array() + scale.array().log().sum()).abs().maxCoeff(), 1e-8);
  }
}

TEST(ShapedGaussian, IsKeptToTheBitInFiles) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "posterior";
  for (const bool flow : {false, true}) {
    const auto q = std::make_shared<const ShapedGaussian>(shaped(4, flow, 9));
    const Gaussian fitted = test::random_gaussian(4, 1);
    const Gaussian whole = fitted.with_correction(test::random_gaussian(4, 2)).with_shape(q);
    EXPECT_STREQ(whole.best().shape(), flow ? "flow" : "skewed");
    whole.save(path, {"a", "b", "c", "d"});
    const SavedPosterior saved = load_posterior(path);
    ASSERT_TRUE(saved.gaussian.has_shape());
    EXPECT_TRUE(saved.gaussian.has_correction());
    const Posterior& read = saved.gaussian.best();
    EXPECT_STREQ(read.shape(), q->shape());
    EXPECT_EQ(read.mean(), q->mean());
    EXPECT_EQ(read.sd(), q->sd());
    EXPECT_EQ(read.draws(5, 3), q->draws(5, 3));
    EXPECT_EQ(read.log_density(q->draws(5, 3)), q->log_density(q->draws(5, 3)));
    EXPECT_EQ(saved.gaussian.mean(), fitted.mean());
  }
}

TEST(ShapedGaussian, BelongsToAGaussianOfItsDimension) {
  const auto q = std::make_shared<const ShapedGaussian>(shaped(3, false, 1));
  EXPECT_THROW((void)test::random_gaussian(4, 1).with_shape(q), UsageError);
  EXPECT_THROW((void)ShapedGaussian(test::random_gaussian(4, 1), test::random_skewed(3, 1)), UsageError);
  EXPECT_THROW((void)q->log_density(Matrix::Zero(4, 1)), UsageError);
  EXPECT_THROW((void)q->covariance_row(3), UsageError);
}

TEST(Gaussian, QuantilesAreThoseOfItsMargins) {
  const Gaussian q = test::random_gaussian(2, 3);
  const Matrix found = q.quantiles(Vector{{.05, .5, .975}});
  EXPECT_NEAR(found(1, 0), q.mean()(1) - 1.6448536269514722 * q.sd()(1), 1e-12);
  EXPECT_EQ(found.col(1), q.mean());
  EXPECT_NEAR(found(0, 2), q.mean()(0) + 1.959963984540054 * q.sd()(0), 1e-12);
}

TEST(BaseModel, HasTheWeightsOfTheShapedPosterior) {
  const Matrix x = test::random_matrix(20, 3, 1);
  const auto model = test::logistic_target(x, test::random_labels(20, 2), 4);
  const ShapedGaussian q = shaped(3, true, 3);
  const BaseModel base(model, q.map());
  const Matrix z = q.base().draws(5, 1);
  Workers workers;
  const auto scratch = base.make_scratch(5);
  Evaluation evaluation{*scratch, workers};
  Vector at_base(5);
  Matrix gradient(3, 5);
  base.evaluate(z, at_base, gradient, evaluation);
  const Matrix theta = q.map().forward(z).theta;
  Vector log_density(5);
  Matrix unused(3, 5);
  model.evaluate(theta, log_density, unused, evaluation);
  EXPECT_LT((at_base - q.base().log_density(z) - (log_density - q.log_density(theta))).cwiseAbs().maxCoeff(),
            1e-9);
  for (Index i = 0; i < 3; ++i) {
    const double step = 1e-5;
    Matrix moved(3, 2);
    moved << z.col(0), z.col(0);
    moved(i, 0) += step;
    moved(i, 1) -= step;
    Vector values(2);
    base.evaluate(moved, values, unused.leftCols(2), evaluation);
    EXPECT_NEAR(gradient(i, 0), (values(0) - values(1)) / (2 * step), 1e-6);
  }
}

// With a model that knows its values on lines, and with one that does not.
TEST(BaseModel, ValuesOnLinesAreThoseWithGradients) {
  const Matrix x = test::random_matrix(20, 3, 1);
  const auto logistic = test::logistic_target(x, test::random_labels(20, 2), 4);
  const auto plain = make_model(PointwiseDensity(3, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return -.5 * theta.squaredNorm();
  }));
  const ShapedGaussian q = shaped(3, false, 3);
  const Matrix directions = test::random_matrix(3, 2, 5);
  const Vector steps{{-1.5, 0, .5, 2}};
  for (const Model* model : {static_cast<const Model*>(&logistic), static_cast<const Model*>(&plain)}) {
    const BaseModel base(*model, q.map());
    Workers workers;
    const auto scratch = base.make_scratch(8);
    Evaluation evaluation{*scratch, workers};
    Matrix on_lines(4, 2);
    ASSERT_TRUE(base.evaluate_lines(q.base().mean(), directions, steps, on_lines, evaluation));
    for (Index j = 0; j < 2; ++j) {
      const Matrix z = (directions.col(j) * steps.transpose()).colwise() + q.base().mean();
      Vector values(4);
      Matrix gradient(3, 4);
      base.evaluate(z, values, gradient, evaluation);
      EXPECT_LT((on_lines.col(j) - values).cwiseAbs().maxCoeff(), 1e-10 * (1 + values.cwiseAbs().maxCoeff()));
    }
  }
}

}  // namespace
}  // namespace magva
