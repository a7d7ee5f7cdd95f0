// A valley that bends: a scale, and the effects that it scales.
#include <gtest/gtest.h>

#include <cmath>

#include "core/elbo.hpp"
#include "magva/model.hpp"
#include "refine/refinement.hpp"
#include "sparse/hessian_pattern.hpp"
#include "sparse/sparse_precision.hpp"

namespace magva {
namespace {

constexpr Index kEffects = 60;
constexpr double kNoise = .5;

double observation(Index i) { return std::sin(static_cast<double>(3 * i)); }

/// log tau ~ N(0, 1), effects ~ N(0, tau), observations ~ N(effect, kNoise).
auto scaled_effects() {
  return make_model(1 + kEffects, [](ConstVectorRef theta, VectorRef gradient) {
    const double precision = std::exp(-2 * theta(0));
    double log_density = -.5 * theta(0) * theta(0) - kEffects * theta(0);
    gradient(0) = -theta(0) - kEffects;
    for (Index i = 1; i <= kEffects; ++i) {
      const double residual = (observation(i) - theta(i)) / kNoise;
      const double square = theta(i) * theta(i) * precision;
      log_density -= .5 * (square + residual * residual);
      gradient(i) = -theta(i) * precision + residual / kNoise;
      gradient(0) += square;
    }
    return log_density;
  });
}

std::shared_ptr<const HessianPattern> arrow() {
  PatternEntries places;
  for (Index i = 0; i <= kEffects; ++i) {
    places.rows.push_back(i);
    places.columns.push_back(i);
    if (i == 0) continue;
    places.rows.push_back(i);
    places.columns.push_back(0);
  }
  return std::make_shared<const HessianPattern>(1 + kEffects, std::move(places));
}

/// Where tau = exp(-6) and all effects are near 0: on the way to the best, where tau is about .5, every step
/// must widen all effects, too.
GaussianStart narrow_start() {
  constexpr double log_tau = -6;
  const auto pattern = arrow();
  Vector precision = Vector::Zero(pattern->entries());
  Vector diagonal = Vector::Constant(1 + kEffects, std::exp(-2 * log_tau));
  diagonal(0) = kEffects;
  pattern->add_to_diagonal(diagonal, precision);
  Vector mean = Vector::Zero(1 + kEffects);
  mean(0) = log_tau;
  return {mean, make_sparse_precision(pattern, precision), nullptr};
}

// Natural gradients alone take 75,000 gradients for a seed.
TEST(Refinement, IsSoonAtTheEndOfAValleyThatBends) {
  constexpr double tolerance = .12;
  constexpr Index draws = 4000;
  const auto model = scaled_effects();
  Vector elbo(3), se(3);
  std::int64_t gradients = 0;
  for (Index k = 0; k < elbo.size(); ++k) {
    Evaluator evaluator(model, 1);
    Refinement refinement(evaluator, narrow_start(), static_cast<std::uint64_t>(1 + k), tolerance);
    while (refinement.status() == RefinementStatus::kRunning && refinement.iterations() < 1000)
      refinement.step();
    EXPECT_EQ(refinement.status(), RefinementStatus::kConverged);
    gradients += evaluator.evaluations();
    const ElboEstimate found = estimate_elbo(evaluator, refinement.posterior(), draws, 1);
    elbo(k) = found.elbo;
    se(k) = found.se;
  }
  EXPECT_LT(gradients, 180'000);
  EXPECT_LT(elbo.maxCoeff() - elbo.minCoeff(), tolerance + 4 * se.maxCoeff());
}

}  // namespace
}  // namespace magva
