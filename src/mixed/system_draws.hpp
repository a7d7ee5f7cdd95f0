#pragma once
// Draws of effects and coefficients from the Gaussian that they have given theta: exactly, or by Laplace's
// method.
#include <functional>

#include "mixed/block_system.hpp"

namespace magva::mixed {

/// All effects and coefficients given theta: centre + factor * B (mean + L^-T noise), with L in the memory.
struct ConditionalEffects {
  BlockSystem::Scales scales;  ///< B
  Vector mean;
  double factor = 1;
};

/// Fills the memory's factor at theta; false if there is none.
using Condition = std::function<bool(ConstVectorRef theta, SystemMemory& memory, ConditionalEffects& out)>;

/// What a model with a block system hands over.
struct SystemOf {
  const Problem& problem;
  const HyperParameters& hyper;
  const BlockSystem& system;
  const Vector& centre;  ///< of the coefficients
  MemoryPool& pool;
};

/// One column per column of theta. Neighbours that are equal share one factor.
MixedDraws draw_effects(const SystemOf& of, ConstMatrixRef theta, std::uint64_t seed, Workers& workers,
                        const Condition& condition);

}  // namespace magva::mixed
