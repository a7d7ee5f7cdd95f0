#pragma once
// Does the log density fall off as a proper posterior's must? Probes far out along the axes on which the
// Gaussian is widest relative to what it knows: its factors, its principal axes, the coordinates.
#include <string>
#include <vector>

#include "core/evaluator.hpp"
#include "magva/posterior.hpp"

namespace magva {

enum class TailKind {
  kLight,     ///< the log density falls at least linearly
  kHeavy,     ///< it falls like a logarithm: few or no moments exist
  kImproper,  ///< it does not fall: there is no posterior
};

struct TailReport {
  TailKind kind = TailKind::kLight;
  std::string where;  ///< the axis, in words; empty where all is well
};

TailReport probe_tails(Evaluator& evaluator, const Gaussian& q);

}  // namespace magva
