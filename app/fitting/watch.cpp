#include "fitting/watch.hpp"

#include <fmt/format.h>

#include "fitting/interrupt.hpp"

namespace magva::fitting {

Watch::Watch(const FitTask& task, std::int64_t most_iterations, SaveCheckpoint save)
    : task_(task),
      most_(most_iterations),
      save_(std::move(save)),
      trace_(most_iterations),
      every_(task.values.number("checkpoint")),
      time_limit_(task.values.given("time-limit") ? task.values.number("time-limit")
                                                  : std::numeric_limits<double>::infinity()) {}

bool Watch::operator()(const IterationView& view) {
  trace_.add(view);
  task_.progress.show(view, most_);
  if (!next_checkpoint_) next_checkpoint_ = view.seconds + every_;
  if (view.seconds >= *next_checkpoint_ && trace_.at_row_end()) {
    save_checkpoint();
    next_checkpoint_ = view.seconds + every_;
  }
  if (InterruptGuard::asked()) {
    stopped_ = StopReason::kInterrupted;
    evidence_ = fmt::format("interrupted after iteration {}", view.iteration);
  } else if (view.seconds >= time_limit_) {
    stopped_ = StopReason::kTimeLimit;
    evidence_ = fmt::format("{} seconds were over after iteration {}", time_limit_, view.iteration);
  }
  return !stopped_;
}

// The trace first: a resumed run drops the rows that come after its checkpoint.
void Watch::save_checkpoint() {
  trace_.save(task_.folder.trace());
  save_();
}

}  // namespace magva::fitting
