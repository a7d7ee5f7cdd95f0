#include "refine/step_control.hpp"

#include <algorithm>
#include <cmath>

namespace magva {

namespace {

/// The largest and the smallest step. Where less than kNoisyStep would be right for both mean and covariance,
/// the batch doubles; where more than kQuietStep would be, it halves.
constexpr double kLargestStep = .5;
constexpr double kSmallestStep = .05;
constexpr double kNoisyStep = .1;
constexpr double kQuietStep = .7;
/// A step overshoots when the next gradient points back by more than this share of its own square.
constexpr double kOvershoot = .3;
/// What is then left of the step, which becomes the largest, and how the largest recovers with every
/// iteration.
constexpr double kOvershootCut = .6;
constexpr double kOvershootRecovery = 1.02;

}  // namespace

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

StepControl::StepControl() : step_(kSmallestStep), largest_(kLargestStep) {}

void StepControl::observe(const Gain& gain) {
  const double w = kGainWeight;
  average_.signal += w * (gain.signal - average_.signal);
  average_.total += w * (gain.total - average_.total);
  average_.overshoot += w * (gain.overshoot - average_.overshoot);
  largest_ = std::min(kLargestStep, kOvershootRecovery * largest_);
  if (average_.overshoot < -kOvershoot * average_.total) {
    largest_ = std::max(kOvershootCut * step_, kSmallestStep);
    average_.overshoot = 0;
  }
  const double best = average_.total > 0 ? average_.signal / average_.total : kLargestStep;
  step_ = std::clamp(best, kSmallestStep, largest_);
}

bool StepControl::noise_dominated() const { return average_.signal < kNoisyStep * average_.total; }

bool StepControl::signal_dominated() const { return average_.signal > kQuietStep * average_.total; }

}  // namespace magva
