#pragma once
// Whether a refinement can keep what it promises.
#include "magva/types.hpp"

namespace magva {

/// What its windows tell.
struct Outlook {
  double noise_of_pair;  ///< nats that a step by one pair of draws would lose to noise
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
