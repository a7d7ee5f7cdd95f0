#pragma once
// Whether a refinement can keep what it promises.
#include "core/archive.hpp"
#include "magva/types.hpp"

namespace magva {

/// Nats that a step by one pair of draws would lose to noise, where the iterates are now: a mean over
/// windows, by their pairs, since a step was last known to gain more than a fit may leave that ends short.
/// One window of heavy-tailed gradients says little, and on the way noise may cost a hundred times what it
/// does at the end.
class PairNoise {
 public:
  /// A window of so many pairs an iteration. `noise`: what it cost a step; `signal`: what a step is known to
  /// gain there.
  void observe(Index pairs, double noise, double signal, double tolerance);
  /// Whether as many draws say so as an epoch with so many pairs an iteration has.
  bool known(Index pairs) const;
  double mean() const { return sum_ / pairs_; }

  template <class Visit, io::ConstOrNot<PairNoise> T>
  friend void visit_fields(Visit& visit, T& noise) {
    visit(noise.sum_);
    visit(noise.pairs_);
  }

 private:
  double sum_ = 0;  // pairs times noise of a pair
  double pairs_ = 0;
};

/// What its windows tell.
struct Outlook {
  double noise_of_pair;  ///< as PairNoise has it
  Index pairs, most_pairs;
  double signal;  ///< what a step is known to gain: of the last window, less two standard errors
  double tolerance;
};

/// Pairs that an iteration would need for the noise that is promised.
double needed_pairs(const Outlook& outlook);
/// What noise costs with the present ones.
double cost_of_noise(const Outlook& outlook);
/// No batch is large enough, noise costs little more than what is promised, and no step is known to gain
/// more.
bool ends_short_of_promise(const Outlook& outlook);

}  // namespace magva
