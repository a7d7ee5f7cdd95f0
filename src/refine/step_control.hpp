#pragma once
// Step sizes from the noise. From the two halves of each batch come two independent gradients g1 and g2; in
// the natural metric <g1, g2>/2 estimates, without bias, what a full step would gain if there were no noise
// (the signal), and |(g1 + g2)/2|^2/2 is signal plus noise. A step rho gains 2 rho signal - rho^2 total: the
// best is signal/total.
#include <vector>

#include "core/archive.hpp"
#include "magva/types.hpp"

namespace magva {

/// Weight of the newest iteration in the running averages from which steps are set.
inline constexpr double kGainWeight = .25;

/// Of one iteration, in nats.
struct Gain {
  double signal = 0;
  double total = 0;
  double overshoot = 0;  ///< <g, previous step direction>/2
};

template <class Visit, io::ConstOrNot<Gain> T>
void visit_fields(Visit& visit, T& gain) {
  visit(gain.signal);
  visit(gain.total);
  visit(gain.overshoot);
}

/// Of a window of iterations.
struct WindowGain {
  double signal = 0;
  double signal_se = 0;
  double total = 0;
  double noise() const { return total > signal ? total - signal : 0; }
};
template <class Visit, io::ConstOrNot<WindowGain> T>
void visit_fields(Visit& visit, T& gain) {
  visit(gain.signal);
  visit(gain.signal_se);
  visit(gain.total);
}
WindowGain summarise(const std::vector<Gain>& window);

/// The step size of one block.
class StepControl {
 public:
  StepControl();
  void observe(const Gain& gain);
  double step() const { return step_; }
  /// Less than the smallest step would be right: more draws are due.
  bool noise_dominated() const;
  /// Hardly any noise: fewer draws would do.
  bool signal_dominated() const;
  /// How far, in nats, the noise keeps the iterates from the optimum with this step: for x <- (1 - rho) x +
  /// rho noise the stationary value of |x|^2/2 is rho/(2 - rho) of the noise's.
  double noise_floor(const WindowGain& window) const { return step_ / (2 - step_) * window.noise(); }

  template <class Visit, io::ConstOrNot<StepControl> T>
  friend void visit_fields(Visit& visit, T& control) {
    visit(control.step_);
    visit(control.largest_);
    visit(control.average_);
  }

 private:
  double step_;
  double largest_;  // shrinks at every overshoot
  Gain average_;    // running
};

/// The largest batch that is of use where the noise of averaged iterates costs `noise` times the tolerance
/// with `pairs` of draws an iteration. Where the promise is out of reach of `most`, noise that is good enough
/// is all that a larger batch can bring.
Index useful_pairs(Index pairs, double noise, Index most);

}  // namespace magva
