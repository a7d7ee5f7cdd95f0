#pragma once
// The generalised Pareto distribution behind k-hat.
#include "magva/diagnostics.hpp"

namespace magva {

/// Above the first k-hat a fit is doubtful, above the second poor.
inline constexpr double kDoubtfulKhat = .7;
inline constexpr double kPoorKhat = 1;

/// Shape and scale of a generalised Pareto distribution fitted to values above 0, which must be sorted
/// ascending (Zhang and Stephens 2009, with the weak prior of PSIS that pulls the shape towards 1/2).
struct ParetoFit {
  double shape;
  double scale;
};
ParetoFit fit_pareto(ConstVectorRef sorted_excesses);

}  // namespace magva
