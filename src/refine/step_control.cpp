#include "refine/step_control.hpp"

#include <algorithm>
#include <cmath>

#include "fit/constants.hpp"

namespace magva {

WindowGain summarise(const std::vector<Gain>& window) {
  WindowGain out;
  const auto n = static_cast<double>(window.size());
  for (const Gain& gain : window) {
    out.signal += gain.signal / n;
    out.total += gain.total / n;
  }
  double squares = 0;
  for (const Gain& gain : window) squares += (gain.signal - out.signal) * (gain.signal - out.signal);
  out.signal_se = window.size() < 2 ? out.total : std::sqrt(squares / (n - 1) / n);
  return out;
}

StepControl::StepControl() : step_(constants::kSmallestStep), largest_(constants::kLargestStep) {}

void StepControl::observe(const Gain& gain) {
  const double w = constants::kGainWeight;
  average_.signal += w * (gain.signal - average_.signal);
  average_.total += w * (gain.total - average_.total);
  average_.overshoot += w * (gain.overshoot - average_.overshoot);
  weight_ += w * (1 - weight_);
  largest_ = std::min(constants::kLargestStep, constants::kOvershootRecovery * largest_);
  if (average_.overshoot < -constants::kOvershoot * average_.total) {
    largest_ = std::max(constants::kOvershootCut * step_, constants::kSmallestStep);
    average_.overshoot = 0;
  }
  const double best = average_.total > 0 ? average_.signal / average_.total : constants::kLargestStep;
  step_ = std::clamp(best, constants::kSmallestStep, largest_);
}

bool StepControl::scarce() const { return average_.signal < constants::kScarceStep * average_.total; }

bool StepControl::abundant() const { return average_.signal > constants::kAbundantStep * average_.total; }

}  // namespace magva
