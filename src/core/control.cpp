#include "core/control.hpp"

#include <fmt/format.h>

#include <cmath>

#include "magva/error.hpp"

namespace magva {

namespace {
constexpr double kTellEvery = .1;    // seconds
constexpr double kMostSpent = 1e15;  // gradients
}  // namespace

Control::Control(const Limits& limits, const std::vector<Observer>& observers, Phase first)
    : limits_(limits),
      observers_(observers),
      view_{first, 0, 0, 0, std::numeric_limits<double>::quiet_NaN()} {}

double Control::seconds_here() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

Control::Position Control::position() const {
  Position at{view_, spent_};
  at.view.seconds = seconds();
  return at;
}

void Control::go_on_from(const Position& position) {
  if (!(position.spent >= 0 && position.spent < kMostSpent))
    throw DataError("the checkpoint counts gradients that no fit can have evaluated: fit again");
  view_ = position.view;
  spent_ = position.spent;
  earlier_seconds_ = position.view.seconds;
}

// Sums of fractions are off by their rounding.
std::int64_t Control::evaluations() const { return static_cast<std::int64_t>(std::ceil(spent_ - 1e-6)); }

void Control::enter(Phase phase) {
  view_.phase = phase;
  view_.iteration = 0;
  try {
    if (!stopped_) tell_observers();
  } catch (const Stopped&) {  // whoever evaluates next is told
  }
}

void Control::stop(StopReason reason, std::string detail) {
  stopped_ = true;
  reason_ = reason;
  detail_ = std::move(detail);
  throw Stopped{};
}

void Control::report(std::int64_t iteration, double elbo) {
  view_.iteration = iteration;
  view_.elbo = elbo;
  if (!stopped_) tell_observers();
  check_time();
  const bool refining = view_.phase == Phase::kComparison || view_.phase == Phase::kRefinement;
  if (refining && iteration >= limits_.iterations)
    stop(StopReason::kIterationLimit, fmt::format("{} iterations were done without convergence", iteration));
}

void Control::spend(double gradients) {
  if (!stopped_ && view_.phase != Phase::kAssessment && evaluations() >= limits_.evaluations)
    stop(StopReason::kIterationLimit,
         fmt::format("{} gradients were evaluated without convergence", evaluations()));
  spent_ += gradients;
}

void Control::poll() {
  if (!stopped_ && seconds_here() >= last_told_ + kTellEvery) tell_observers();
  check_time();
}

void Control::tell_observers() {
  last_told_ = seconds_here();
  view_.seconds = seconds();
  view_.gradient_evaluations = evaluations();
  bool go_on = true;
  for (const auto& observer : observers_) go_on = observer(view_) && go_on;
  if (!go_on)
    stop(StopReason::kInterrupted,
         fmt::format("interrupted during the {} after {} gradients", to_string(view_.phase), evaluations()));
}

void Control::check_time() {
  const double now = seconds_here();
  if (stopped_) {
    if (now >= granted_until_) throw Stopped{};
    return;
  }
  if (now >= limits_.seconds)
    stop(StopReason::kTimeLimit, fmt::format("{} seconds were over during the {} after {} gradients",
                                             limits_.seconds, to_string(view_.phase), evaluations()));
}

bool Control::begin_assessment(double hurried) {
  if (stopped_ && reason_ == StopReason::kIterationLimit) stopped_ = false;
  enter(Phase::kAssessment);
  if (stopped_) granted_until_ = seconds_here() + hurried;
  return stopped_;
}

}  // namespace magva
