#include "fitting/watch.hpp"

#include <fmt/format.h>

#include "fitting/interrupt.hpp"

namespace magva::fitting {

Watch::Watch(const FitTask& task, std::int64_t most_iterations, SaveCheckpoint save)
    : task_(task),
      save_(std::move(save)),
      trace_(most_iterations),
      every_(task.values.number("checkpoint")),
      time_limit_(task.values.given("time-limit") ? task.values.number("time-limit")
                                                  : std::numeric_limits<double>::infinity()) {}

bool Watch::operator()(const IterationView& view, const Stage& stage) {
  trace_.add(view);
  checkpoint_when_due(view);
  if (view.iteration >= iteration_limit_) {
    stopped_ = StopReason::kIterationLimit;
    evidence_ = fmt::format("{} iterations were done without convergence", view.iteration);
    return false;
  }
  return prepare(view, stage);
}

bool Watch::prepare(const IterationView& view, const Stage& stage) {
  task_.progress.show(view, stage);
  if (InterruptGuard::asked()) {
    stopped_ = StopReason::kInterrupted;
    evidence_ = fmt::format("interrupted after {} {}", stage.name, stage.done);
  } else if (view.seconds >= time_limit_) {
    stopped_ = StopReason::kTimeLimit;
    evidence_ = fmt::format("{} seconds were over after {} {}", time_limit_, stage.name, stage.done);
  }
  return !stopped_;
}

void Watch::checkpoint_when_due(const IterationView& view) {
  if (!save_) return;
  if (!next_checkpoint_) next_checkpoint_ = view.seconds + every_;
  if (view.seconds < *next_checkpoint_ || !trace_.at_row_end()) return;
  save_checkpoint();
  next_checkpoint_ = view.seconds + every_;
}

// The trace first: a resumed run drops the rows that come after its checkpoint.
void Watch::save_checkpoint() {
  trace_.save(task_.folder.trace());
  save_();
}

}  // namespace magva::fitting
