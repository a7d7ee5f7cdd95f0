#include "magva/auto/step_control.hpp"

#include <algorithm>
#include <cmath>

#include "magva/auto/constants.hpp"

namespace magva {

WindowGain summarise(const std::vector<Gain>& window) {
  WindowGain out;
  const auto n = static_cast<double>(window.size());
  for (const Gain& gain : window) {
    out.signal += gain.signal / n;
    out.total += gain.total / n;
    out.overshoot += gain.overshoot / n;
  }
  double squares = 0;
  for (const Gain& gain : window) squares += (gain.signal - out.signal) * (gain.signal - out.signal);
  out.signal_se = window.size() < 2 ? out.total : std::sqrt(squares / (n - 1) / n);
  return out;
}

StepControl::StepControl() : step_(constants::kFirstStep), largest_(constants::kLargestStep) {}

bool StepControl::update(const WindowGain& window) {
  if (window.overshoot < -constants::kOvershoot * window.total) {
    largest_ = std::max(.5 * step_, constants::kSmallestOvershootStep);
    step_ = std::min(step_, largest_);
    return false;
  }
  const double best = window.total > 0 ? window.signal / window.total : constants::kLargestStep;
  const double smallest = std::min(constants::kSmallestStep, largest_);
  step_ = std::clamp(best, smallest, largest_);
  return best < smallest;
}

}  // namespace magva
