#pragma once
// Importance weights of the hyper-parameters alone. Where the others are independent given these, their mass
// is known without noise, however many there are; the weights of draws of all parameters vary more and more
// with their number, and then say nothing.
#include "mixture/gaussian_mixture.hpp"
#include "mixture/hyper_marginal.hpp"

namespace magva {

class HyperWeights {
 public:
  HyperWeights(Evaluator& evaluator, const Gaussian& q, const std::shared_ptr<const HessianPattern>& pattern,
               const std::vector<Index>& hyper_parameters, std::uint64_t seed);
  HyperWeights(const HyperWeights&) = delete;
  HyperWeights& operator=(const HyperWeights&) = delete;

  ConditionalFit& fit() { return fit_; }
  HyperDesign& design() { return design_; }

  /// log p - log q of the hyper-parameters at the columns of theta, up to a constant.
  Vector log_weights(const GaussianMixture& q, const Matrix& theta);
  /// The others in the middle of the hyper-parameters' design.
  const ConditionalGaussian& middle() const { return design_.nodes().front().given; }

 private:
  ConditionalFit fit_;
  HyperDesign design_;
  HyperMarginal marginal_;
};

}  // namespace magva
