#pragma once
// Where the posterior has its mass: the best mean-field Gaussian for a few fixed draws, by L-BFGS
// (deterministic ADVI: Giordano, Ingram and Broderick 2024).
//
// The mode of a hierarchical model may be a spike without any mass, where a residual or group sd is zero and
// the density has no bound. In an ELBO the entropy outweighs such a spike.
#include <cstdint>
#include <optional>

#include "core/evaluator.hpp"

namespace magva {

struct MeanField {
  Vector mean;
  Vector sd;
  double elbo;  ///< by the fixed draws
};

/// From a wide Gaussian around `start`; nothing where its draws are outside of the support, however narrow it
/// is. Where the evaluator's fit must end on the way, the best so far.
std::optional<MeanField> fit_mean_field(Evaluator& evaluator, ConstVectorRef start, std::uint64_t seed);

}  // namespace magva
