#pragma once
// The default: a Gaussian fit without any tuning, that knows when it has converged and says how far to trust
// it. Starts -> modes -> curvature -> best low-rank Gaussian for the quadratic -> natural gradient refinement
// -> trust.
#include <optional>
#include <string>
#include <vector>

#include "algorithm1/fitter.hpp"
#include "assess/elbo.hpp"

namespace magva {

struct AutoOptions {
  /// Factors; unset: as many as pay, up to full rank where m is small. m or more is full rank.
  std::optional<Index> rank;
  int starts = 4;  ///< mode searches: from the model's own start, or `init`, and from random points
  std::optional<Vector> init;  ///< where the first search starts
  std::uint64_t seed = 1;
  int threads = 1;
  std::int64_t max_evaluations =
      0;  ///< gradients in all before the reported ELBO; 0: a generous number that grows with m
  double time_limit = std::numeric_limits<double>::infinity();  ///< seconds
  Index elbo_draws = 4000;                                      ///< fresh draws for ELBO and k-hat

  /// Every fault at once; empty where all is well.
  std::vector<std::string> problems(Index dimension) const;
};

/// What observers see, a few times a second at least where gradients are cheap.
struct AutoView {
  const char* phase;  ///< "mode search", "curvature", "comparing starts", "refinement"
  std::int64_t iteration;
  std::int64_t gradient_evaluations;
  double seconds;
  double elbo;  ///< noisy estimate; NaN before the refinement
};
/// False interrupts the fit, which then ends with the best result so far.
using AutoObserver = std::function<bool(const AutoView&)>;

/// One rank that was considered.
struct RankStep {
  Index rank;
  double gain;  ///< expected nats over mean-field, from the curvature
};

/// One start, after its mode search.
struct StartReport {
  double log_density;  ///< at the end of the search
  bool converged;      ///< the search found a top
  double elbo;  ///< of its Gaussian after a short refinement; NaN where it led to the same mode as another
};

struct AutoResult {
  Gaussian posterior;
  StopReason stopped;
  std::string evidence;  ///< why it stopped, in a sentence
  double elbo;
  double elbo_se;
  double khat;
  bool trusted;                       ///< false: exit code 3
  std::vector<std::string> warnings;  ///< each a sentence; the reasons where trusted is false
  std::vector<RankStep> rank_path;
  std::vector<StartReport> starts;
  std::int64_t iterations;
  std::int64_t gradient_evaluations;  ///< of the fit, without the draws for ELBO and tails
  std::int64_t rejected_draws;
  double seconds;
};

/// Throws UsageError for options that cannot be meant and for a model whose log density is noisy, as on
/// minibatches (see fit_batch); DataError where the log density is finite at no start.
AutoResult fit_auto(const Model& model, const AutoOptions& options = {},
                    const std::vector<AutoObserver>& observers = {});

}  // namespace magva
