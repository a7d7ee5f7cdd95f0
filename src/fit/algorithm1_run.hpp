#pragma once
#include "algorithm1/options.hpp"
#include "magva/fit.hpp"

namespace magva {

/// Algorithm 1's options with those that it shares with other ways of fitting.
FitterOptions fitter_options(const FitOptions& options, Index dimension, int threads);

}  // namespace magva
