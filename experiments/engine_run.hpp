#pragma once
// One fit of an experiment: run, watched, timed and scored.
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithm1/fitter.hpp"

namespace magva::experiments {

/// Thrown out of a run that was asked to stop: it leaves no result.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};
using StopFlag = std::function<bool()>;

/// Means of the single-draw ELBO estimates over windows of iterations; NaN if none was finite.
struct Curve {
  std::int64_t window = 25;
  std::vector<double> elbo;
};

/// The fit as it stood at one iteration.
struct Snapshot {
  std::int64_t iteration;
  Gaussian posterior;
  double seconds;  ///< of one processor core, up to here
};

struct EngineRun {
  std::vector<Snapshot> snapshots;  ///< one per checkpoint; the last is the end
  Curve curve;
  double seconds;  ///< of one processor core
  std::int64_t rejected_draws;
  StopReason stopped;

  const Gaussian& posterior() const { return snapshots.back().posterior; }
};

/// Runs to the fitter's limit. Checkpoints are iterations in ascending order, to which the end is added.
/// After a divergence all snapshots are the last good state.
EngineRun run_engine(Fitter& fitter, std::int64_t window, const StopFlag& stop,
                     std::vector<std::int64_t> checkpoints = {});

struct Score {
  double elbo;
  double standard_error;
};
/// The ELBO from fresh draws of q.
Score score(const Model& model, const Gaussian& posterior, Index draws, std::uint64_t seed);

/// A fit without any of the paper's settings: magva's default.
struct DefaultFit {
  Gaussian posterior;
  double elbo;
  double seconds;      ///< of one processor core
  std::string detail;  ///< why it stopped
};
/// `max_evaluations` as in FitOptions. Throws Interrupted if it was asked to stop.
DefaultFit default_fit(const Model& model, std::optional<Index> rank, std::uint64_t seed,
                       std::int64_t max_evaluations, const StopFlag& stop);

/// The share of the total variance, trace(Sigma), that the factors carry: near 0 if they have died.
double factor_share(const Gaussian& posterior);

/// Processor seconds of the calling thread.
double thread_seconds();
/// Processor seconds of one gradient evaluation in a fit with these options, from a short one.
double seconds_per_evaluation(const Model& model, FitterOptions options);

}  // namespace magva::experiments
