#pragma once
// How a fit is told to end: observers, a time limit and an evaluation limit, looked at wherever time passes.
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "magva/fit.hpp"

namespace magva {

/// Thrown where a fit must end. A stage that has something to return catches it and returns the best so far;
/// the next stage's first evaluation throws it again. It never passes through a model.
struct Stopped {};

struct Limits {
  double seconds = std::numeric_limits<double>::infinity();
  std::int64_t evaluations = std::numeric_limits<std::int64_t>::max();
  std::int64_t iterations = std::numeric_limits<std::int64_t>::max();  ///< of a refinement
};

class Control {
 public:
  /// The observers must outlive this.
  Control(const Limits& limits, const std::vector<Observer>& observers, Phase first = Phase::kSearch);

  /// What the fit does from here on; tells the observers, and leaves it to the next call to end the fit.
  void enter(Phase phase);
  /// An iteration of this phase is about to begin, or has ended; tells the observers.
  void report(std::int64_t iteration, double elbo);
  /// Before so many gradients are evaluated, which minibatches have as fractions.
  void spend(double gradients);
  /// Wherever time passes: tells the observers when that is due.
  void poll();
  /// The fit has ended, in whatever way. A limit on gradients or iterations does not hold for its assessment;
  /// after an interrupt or the time limit it may go on for `hurried` seconds. True if it must hurry.
  bool begin_assessment(double hurried);

  bool stopped() const { return stopped_; }
  StopReason reason() const { return reason_; }
  const std::string& detail() const { return detail_; }
  /// Of the whole fit, with those of the run that this one resumes; limits are for this run alone.
  double seconds() const { return earlier_seconds_ + seconds_here(); }
  void add_earlier_seconds(double seconds) { earlier_seconds_ += seconds; }
  /// Where a fit is, for a checkpoint; and to go on from there, without a word to the observers.
  struct Position {
    FitView view{Phase::kSearch, 0, 0, 0, std::numeric_limits<double>::quiet_NaN()};
    double spent = 0;
  };
  Position position() const;
  void go_on_from(const Position& position);
  std::int64_t evaluations() const;

 private:
  double seconds_here() const;
  void tell_observers();
  void check_time();
  [[noreturn]] void stop(StopReason reason, std::string detail);

  Limits limits_;
  const std::vector<Observer>& observers_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  FitView view_;
  double earlier_seconds_ = 0;
  double spent_ = 0;
  double last_told_ = 0;
  bool stopped_ = false;
  double granted_until_ = -1;  // seconds
  StopReason reason_ = StopReason::kInterrupted;
  std::string detail_;
};

}  // namespace magva
