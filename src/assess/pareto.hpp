#pragma once
// Pareto smoothed importance sampling (Vehtari, Simpson, Gelman, Yao and Gabry 2024): how far the weights h/q
// can be trusted, and smoothed weights.
#include <string>

#include "magva/types.hpp"

namespace magva {

/// Shape and scale of a generalised Pareto distribution fitted to values above 0, which must be sorted
/// ascending (Zhang and Stephens 2009, with the weak prior of PSIS that pulls the shape towards 1/2).
struct ParetoFit {
  double shape;
  double scale;
};
ParetoFit fit_pareto(ConstVectorRef sorted_excesses);

struct SmoothedWeights {
  Vector log_weights;  ///< normalised: their exponentials sum to 1
  double khat;         ///< +infinity where all weight is on draws that cannot be told apart from one
  double effective;    ///< 1 / sum of squared weights
};
/// log weights may be -infinity; at least one must not be.
SmoothedWeights smooth_weights(ConstVectorRef log_weights);

/// The k-hat alone.
double pareto_khat(ConstVectorRef log_weights);
/// What a k-hat means, in words.
std::string khat_words(double khat);

}  // namespace magva
