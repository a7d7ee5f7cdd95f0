#pragma once
// Expected log likelihoods whose integrals are closed or one-dimensional.
#include <memory>

#include "magva/expectations.hpp"
#include "magva/positive_prior.hpp"

namespace magva::detail {

std::shared_ptr<const ExpectedLikelihood> expected_bernoulli_logit();
std::shared_ptr<const ExpectedLikelihood> expected_poisson_log();
std::shared_ptr<const ExpectedLikelihood> expected_gaussian_known_noise(double sigma);
/// With the coordinate log sigma, sigma ~ half-Cauchy(0, exp(log_prior_scale)).
std::shared_ptr<const ExpectedLikelihood> expected_gaussian(double log_prior_scale);
std::shared_ptr<const ExpectedLikelihood> expected_gaussian(const PositivePrior& sigma);

}  // namespace magva::detail
