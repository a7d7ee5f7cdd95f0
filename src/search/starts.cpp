#include "search/starts.hpp"

#include <Eigen/Cholesky>

#include <cmath>
#include <limits>

#include "core/elbo.hpp"
#include "core/noise.hpp"
#include "fit/constants.hpp"
#include "magva/error.hpp"
#include "refine/covariance.hpp"
#include "search/curvature.hpp"

namespace magva {

std::vector<Vector> start_points(Evaluator& evaluator, ConstVectorRef first, int count, std::uint64_t seed) {
  const Index m = evaluator.dimension();
  std::vector<Vector> points;
  Vector gradient(m);
  const Noise noise(seed, NoiseStream::kStarts);
  for (int trial = 0; trial < constants::kStartTrials && static_cast<int>(points.size()) < count; ++trial) {
    Vector point = first;
    if (trial > 0) {
      Matrix z(m, 1);
      noise.fill(static_cast<std::uint64_t>(trial), 0, z);
      // Later trials stay nearer to the first point, in case the support is small.
      point += constants::kStartSpread * std::pow(.9, std::max(0, trial - 2 * count)) * z.col(0);
    }
    if (std::isfinite(evaluator.evaluate(point, gradient))) points.push_back(std::move(point));
  }
  if (points.empty())
    throw DataError(
        "the log density is not finite at the start nor at random points around it; give a start inside its "
        "support");
  return points;
}

std::optional<Candidate> polish_mode(Evaluator& evaluator, const PathPoint& from) {
  Candidate candidate{from, std::nullopt, false, 0};
  for (int round = 0;; ++round) {
    const auto curvature = dense_curvature(evaluator, candidate.centre);
    if (!curvature) break;
    candidate.curvature = positive_part(*curvature);
    const Vector step = Eigen::LLT<Matrix>(*candidate.curvature).solve(candidate.centre.gradient);
    if (.5 * step.dot(candidate.centre.gradient) < constants::kNewtonDecrement) {
      candidate.is_mode = candidate.curvature->isApprox(*curvature, 1e-6);
      break;
    }
    if (round == constants::kPolishRounds) break;
    candidate.centre =
        search_mode(evaluator, candidate.centre.theta, constants::kPolishIterations, *candidate.curvature)
            .end;
  }
  if (!candidate.curvature) return std::nullopt;
  return candidate;
}

std::optional<Candidate> best_on_path(Evaluator& evaluator, const ModeSearch& search, std::uint64_t seed) {
  std::optional<Candidate> best;
  double best_elbo = -std::numeric_limits<double>::infinity();
  const std::size_t stride = std::max<std::size_t>(1, search.path.size() / constants::kPathTrials);
  for (std::size_t i = 0; i < search.path.size(); i += stride) {
    const auto curvature = dense_curvature(evaluator, search.path[i]);
    if (!curvature) continue;
    Candidate candidate{search.path[i], positive_part(*curvature), false, 0};
    const Gaussian q = make_full_rank(*candidate.curvature)->gaussian(candidate.centre.theta);
    const ElboEstimate estimate = estimate_elbo(evaluator, q, constants::kPathDraws, seed);
    if (estimate.rejected > constants::kPathDraws / 4 || !(estimate.elbo > best_elbo)) continue;
    best_elbo = estimate.elbo;
    best = std::move(candidate);
  }
  return best;
}

bool same_place(const Candidate& a, const Candidate& b) {
  if (a.is_mode != b.is_mode) return false;
  const Vector apart = a.centre.theta - b.centre.theta;
  const double distance2 = a.curvature ? apart.dot(*a.curvature * apart)
                                       : 2 * std::abs(a.centre.log_density - b.centre.log_density);
  return distance2 < constants::kSamePlace * static_cast<double>(std::max<Index>(1, apart.size()));
}

}  // namespace magva
