#pragma once
// The search: from several starts to places where a Gaussian may begin.
#include <vector>

#include "magva/fit.hpp"
#include "search/starts.hpp"

namespace magva {

struct SearchResult {
  std::vector<Candidate> candidates;  ///< at least one: modes first, the highest first
  std::vector<StartReport> reports;   ///< one per start
};

/// Searches from each point, finishes modes with the dense curvature where m allows one, and drops what leads
/// nowhere or where another start led already. Where the fit must end, returns what was found until then.
SearchResult find_candidates(Evaluator& evaluator, const std::vector<Vector>& points, std::uint64_t seed);

}  // namespace magva
