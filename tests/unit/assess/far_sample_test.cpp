// What a fit's own draws do not reach: samples from far out, and modes where labels are exchanged.
#include "assess/far_sample.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "assess/other_modes.hpp"
#include "magva/model.hpp"

namespace magva {
namespace {

Gaussian wide_gaussian(Index m, double sd) {
  return Gaussian::dense(Vector::Zero(m), sd * Matrix::Identity(m, m));
}

TEST(FarSample, HasTheSdsOfAWiderPosterior) {
  const auto model = make_model(3, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta / 4;
    return -theta.squaredNorm() / 8;
  });
  Evaluator evaluator(model, 1);
  const Gaussian q = wide_gaussian(3, 1);
  const auto far = far_reaching_sample(evaluator, q, 5);
  ASSERT_TRUE(far.has_value());
  EXPECT_GT(far->effective, 1000);
  for (const MarginalError& error : errors_by(*far, q)) {
    EXPECT_LT(error.se, .05);
    EXPECT_NEAR(std::log(error.sd_ratio / 2), 0, 4 * error.se);
    EXPECT_NEAR(error.shift / 2, 0, 4 * error.se);
  }
}

// z_1 | z_0 ~ N(z_0^2, .2): a Gaussian in the middle of the bend sees neither end.
TEST(FarSample, FindsTheEndsOfABanana) {
  const auto model = make_model(2, [](ConstVectorRef z, VectorRef gradient) {
    const double rest = (z(1) - z(0) * z(0)) / .2;
    gradient(0) = -z(0) + 2 * z(0) * rest;
    gradient(1) = -rest;
    return -.5 * z(0) * z(0) - .1 * rest * rest;
  });
  Evaluator evaluator(model, 1);
  const Gaussian q = Gaussian::dense(Vector{{0, .15}}, Matrix{{.4, 0}, {0, .45}});
  MarginalReport report;
  check_far_out(evaluator, q, 3, report);
  ASSERT_EQ(report.errors.size(), 2U);
  EXPECT_EQ(report.samples.size(), 1U);
  for (const MarginalError& error : report.errors) {
    const double sd = error.coordinate == 0 ? 1 : std::sqrt(2 + .2);
    const double own = error.coordinate == 0 ? .4 : .45;
    EXPECT_NEAR(std::log(error.sd_ratio * own / sd), 0, 4 * error.se + .05);
  }
}

// What 3,000 draws show to be near, by two standard errors, takes no more of them.
TEST(FarSample, TakesFewerDrawsWhereAllIsNear) {
  std::int64_t points = 0;
  const auto normal = make_model(3, [&](ConstVectorRef theta, VectorRef gradient) {
    ++points;
    gradient = -theta;
    return -.5 * theta.squaredNorm();
  });
  Evaluator evaluator(normal, 1);
  MarginalReport report;
  check_far_out(evaluator, wide_gaussian(3, 1), 5, report);
  EXPECT_EQ(points, 3000);
  ASSERT_EQ(report.errors.size(), 3U);
  for (const MarginalError& error : report.errors) EXPECT_LT(error.size(), 4 * error.se);
  points = 0;
  MarginalReport other;
  check_far_out(evaluator, wide_gaussian(3, .7), 5, other);
  EXPECT_EQ(points, 9000);
}

TEST(FarSample, LeavesManyParametersAlone) {
  const auto model = make_model(9, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta / 4;
    return -theta.squaredNorm() / 8;
  });
  Evaluator evaluator(model, 1);
  MarginalReport report;
  check_far_out(evaluator, wide_gaussian(9, 1), 3, report);
  EXPECT_TRUE(report.errors.empty());
}

/// Two narrow normals, at (-2, 3) and, with the labels exchanged, at (3, -2).
double exchangeable(ConstVectorRef theta, VectorRef gradient) {
  const auto one = [&](double a, double b, Vector& slope) {
    const Vector apart = (theta - Vector{{a, b}}) / .05;
    slope = -apart / .05;
    return -.5 * apart.squaredNorm();
  };
  Vector first_slope(2), second_slope(2);
  const double first = one(-2, 3, first_slope), second = one(3, -2, second_slope);
  const double share = 1 / (1 + std::exp(second - first));
  gradient = share * first_slope + (1 - share) * second_slope;
  return std::max(first, second) + std::log1p(std::exp(-std::abs(first - second)));
}

// Eight sds are .4 there, and the other mode is 7 away.
TEST(OtherModes, ExchangedLabelsAreFound) {
  const auto model = make_model(2, exchangeable);
  Evaluator evaluator(model, 1);
  const Gaussian q = Gaussian::dense(Vector{{-2, 3}}, .05 * Matrix::Identity(2, 2));
  const auto other = find_other_mode(evaluator, q, 1);
  ASSERT_TRUE(other.has_value());
  EXPECT_NEAR(other->theta(0), 3, .01);
  EXPECT_NEAR(other->theta(1), -2, .01);
  EXPECT_NEAR(other->share, .5, .01);
}

}  // namespace
}  // namespace magva
