#pragma once
// From a Gaussian to the best full-rank one, by Newton steps with gradients at pairs of draws.
#include "response/gradient_sample.hpp"

namespace magva {

/// Pairs in the sample of a step: some more than parameters, so that the noise of their regression is small.
Index step_pairs(Index dimension);

/// The root of root (I - excess)^-1 root'; nothing where that is no covariance.
std::optional<Matrix> root_given(const Matrix& root, const Matrix& excess);

struct FullRankOptimum {
  RootedGaussian at;
  GradientSample sample;  ///< there
};

/// With samples of step_pairs(), at most so many. Nothing where that is too few, or where a step leads to no
/// covariance.
std::optional<FullRankOptimum> go_on_to_full_rank(Evaluator& evaluator, RootedGaussian from, int most_samples,
                                                  std::uint64_t seed);

}  // namespace magva
