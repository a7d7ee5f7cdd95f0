#pragma once
#include <cstdint>

#include "magva/model.hpp"
#include "magva/posterior.hpp"

namespace magva::fitting {

struct Assessment {
  double elbo;
  double elbo_se;
  Index draws;
  Index rejected;
};

/// The ELBO from fresh draws, log h(theta) - log q(theta) on average, with its standard error.
Assessment assess(const Model& model, const Gaussian& posterior, std::uint64_t seed, int threads);

}  // namespace magva::fitting
