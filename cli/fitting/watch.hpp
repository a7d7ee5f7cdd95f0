#pragma once
// What happens around the iterations of a fit: trace, progress, checkpoints, interrupts and limits.
#include <functional>
#include <limits>
#include <optional>

#include "fitting/run.hpp"

namespace magva::fitting {

class Watch {
 public:
  /// `save` writes a checkpoint; it is empty where the optimiser has none.
  using SaveCheckpoint = std::function<void()>;
  Watch(const FitTask& task, std::int64_t most_iterations, SaveCheckpoint save);

  /// A limit for optimisers that have none of their own.
  void stop_after(std::int64_t iterations) { iteration_limit_ = iterations; }

  /// After each iteration; false where the fit is to stop.
  bool operator()(const IterationView& view, const Stage& stage);
  /// The same for what comes before the iterations that are traced.
  bool prepare(const IterationView& view, const Stage& stage);

  /// Why this told the fit to stop, where it did.
  std::optional<StopReason> stopped() const { return stopped_; }
  std::string evidence() const { return evidence_; }

  results::Trace& trace() { return trace_; }
  /// Saves trace and checkpoint, so that --resume goes on from here.
  void save_checkpoint();

 private:
  void checkpoint_when_due(const IterationView& view);

  const FitTask& task_;
  SaveCheckpoint save_;
  results::Trace trace_;
  double every_;
  double time_limit_;
  std::int64_t iteration_limit_ = std::numeric_limits<std::int64_t>::max();
  std::optional<double> next_checkpoint_;
  std::optional<StopReason> stopped_;
  std::string evidence_;
};

}  // namespace magva::fitting
