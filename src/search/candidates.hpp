#pragma once
// The search: from several starts to places where a Gaussian may begin.
#include <functional>
#include <optional>
#include <vector>

#include "magva/fit.hpp"
#include "search/path_gaussians.hpp"
#include "search/starts.hpp"
#include "sparse/hessian_pattern.hpp"

namespace magva {

struct SearchResult {
  std::vector<Candidate> candidates;  ///< at least one: modes first, the highest first
  std::vector<StartReport> reports;   ///< one per start
};

/// The best place on the way to a mode, over all starts so far, or one that is known to have mass.
struct PathPlace {
  PathMean best;
  double end_elbo;     ///< the best of the ends of the ways
  std::size_t search;  ///< which start's way it is on
};

/// A search between two of its starts: what it goes on with.
struct SearchState {
  std::vector<Vector> points;  ///< to start from
  std::size_t next = 0;        ///< of the points
  SearchResult found;
  std::optional<PathPoint> highest;
  std::shared_ptr<const HessianPattern> pattern;  ///< null where the Hessian is dense, or not known
  std::optional<PathPlace> on_path;
};

/// The Hessian's pattern around a point, where it may be sparse and m is such that this matters; null where
/// it is dense, or costs little.
std::shared_ptr<const HessianPattern> find_pattern(Evaluator& evaluator, ConstVectorRef at,
                                                   std::uint64_t seed);

/// Searches from each point, finishes modes with the dense curvature where m allows one, and drops what leads
/// nowhere or where another start led already. Where the fit must end, returns what was found until then.
/// `state` is that of a new search, with its points, or of one that was interrupted; `after_start` is called
/// after each start.
SearchResult find_candidates(
    Evaluator& evaluator, SearchState& state, std::uint64_t seed,
    const std::function<void()>& after_start = [] {});

}  // namespace magva
