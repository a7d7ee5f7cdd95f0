// Funnels: found, named, and with the advice that fits.
#include "fit/funnel.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "magva/fit.hpp"

namespace magva {
namespace {

constexpr Index kGroups = 8;
const double kEffects[kGroups] = {28, 8, -3, 7, -1, 1, 18, 12};
const double kErrors[kGroups] = {15, 10, 16, 11, 9, 11, 10, 18};

/// Eight schools (Rubin 1981) with theta = (mu, log tau, effects), centred, and errors so many times as
/// large.
auto centred_schools(double errors) {
  return make_model(kGroups + 2, [errors](ConstVectorRef theta, VectorRef gradient) {
    const double mu = theta(0), log_tau = theta(1), precision = std::exp(-2 * log_tau);
    double sum = -mu * mu / 50 + log_tau - .5 * std::exp(2 * log_tau) / 25;
    gradient.setZero();
    gradient(0) = -mu / 25;
    gradient(1) = 1 - std::exp(2 * log_tau) / 25;
    for (Index j = 0; j < kGroups; ++j) {
      const double effect = theta(2 + j) - mu;
      const double weight = 1 / std::pow(errors * kErrors[j], 2);
      const double left = kEffects[j] - theta(2 + j);
      sum += -.5 * precision * effect * effect - log_tau - .5 * weight * left * left;
      gradient(0) += precision * effect;
      gradient(1) += precision * effect * effect - 1;
      gradient(2 + j) = -precision * effect + weight * left;
    }
    return sum;
  });
}

/// The same with effects mu + tau z and theta = (mu, log tau, z).
auto non_centred_schools(double errors) {
  return make_model(kGroups + 2, [errors](ConstVectorRef theta, VectorRef gradient) {
    const double mu = theta(0), log_tau = theta(1), tau = std::exp(log_tau);
    double sum = -mu * mu / 50 + log_tau - .5 * tau * tau / 25;
    gradient.setZero();
    gradient(0) = -mu / 25;
    gradient(1) = 1 - tau * tau / 25;
    for (Index j = 0; j < kGroups; ++j) {
      const double z = theta(2 + j);
      const double weight = 1 / std::pow(errors * kErrors[j], 2);
      const double left = kEffects[j] - mu - tau * z;
      sum += -.5 * z * z - .5 * weight * left * left;
      gradient(0) += weight * left;
      gradient(1) += weight * left * tau * z;
      gradient(2 + j) = -z + weight * left * tau;
    }
    return sum;
  });
}

Gaussian wide_in_log_tau(double mean, double sd, double effects) {
  Vector at = Vector::Zero(kGroups + 2);
  at(1) = mean;
  Vector sds = Vector::Constant(kGroups + 2, effects);
  sds(1) = sd;
  return Gaussian::low_rank(at, Matrix(kGroups + 2, 0), sds);
}

TEST(Funnel, OfCentredEffectsIsNamed) {
  const auto model = centred_schools(1);
  Evaluator evaluator(model, 1);
  const auto funnel = find_funnel(evaluator, wide_in_log_tau(1, .8, 2.6));
  ASSERT_TRUE(funnel);
  EXPECT_EQ(funnel->neck, 1);
  EXPECT_EQ(funnel->count, kGroups + 1);  // given the effects, mu is as narrow as they are
  EXPECT_TRUE(funnel->centred());
  // Given tau = e, an effect's log sd changes by (1 + tau^2 / error^2)^-1 with log tau: more than .9 of .8.
  EXPECT_NEAR(funnel->widening, .76, .06);
  EXPECT_NE(describe(*funnel, model).find("non-centred form"), std::string::npos);
}

// With errors a hundredth as large the likelihood narrows the standardised effects where tau is large.
TEST(Funnel, OfNonCentredEffectsWithManyDataIsNamed) {
  const auto model = non_centred_schools(.01);
  Evaluator evaluator(model, 1);
  const auto funnel = find_funnel(evaluator, wide_in_log_tau(2, .3, .02));
  ASSERT_TRUE(funnel);
  EXPECT_EQ(funnel->neck, 1);
  EXPECT_FALSE(funnel->centred());
  EXPECT_NE(describe(*funnel, model).find("centred form"), std::string::npos);
}

TEST(Funnel, IsNoneInAGaussian) {
  const auto model = make_model(kGroups + 2, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return -.5 * theta.squaredNorm();
  });
  Evaluator evaluator(model, 1);
  EXPECT_FALSE(find_funnel(evaluator, wide_in_log_tau(0, 1, 1)));
}

// The default's warnings name it where the fit is in doubt.
TEST(Funnel, IsInTheWarningsOfADoubtfulFit) {
  const FitResult result = fit(centred_schools(1), {});
  const auto about = [](const Warning& warning) {
    return warning.message.find("funnel") != std::string::npos;
  };
  EXPECT_EQ(std::count_if(result.warnings.begin(), result.warnings.end(), about), 1);
}

}  // namespace
}  // namespace magva
