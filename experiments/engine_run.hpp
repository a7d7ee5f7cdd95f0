#pragma once
// One fit of an experiment: run, watched, timed and scored.
#include <functional>
#include <stdexcept>
#include <vector>

#include "algorithm1/fitter.hpp"

namespace magva::experiments {

/// Thrown out of a run that was asked to stop: it leaves no result.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};
using StopFlag = std::function<bool()>;

/// Means of the single-draw ELBO estimates over windows of iterations; NaN where none was finite.
struct Curve {
  std::int64_t window = 25;
  std::vector<double> elbo;
};

struct EngineRun {
  FitterResult result;
  Curve curve;
  double seconds;  ///< of one processor core
};

EngineRun run_engine(Fitter& fitter, std::int64_t window, const StopFlag& stop);

struct Score {
  double elbo;
  double standard_error;
};
/// The ELBO from fresh draws of q.
Score score(const Model& model, const Gaussian& posterior, Index draws, std::uint64_t seed);

/// The share of the total variance, trace(Sigma), that the factors carry: near 0 where they have died.
double factor_share(const Gaussian& posterior);

/// Processor seconds of the calling thread.
double thread_seconds();

}  // namespace magva::experiments
