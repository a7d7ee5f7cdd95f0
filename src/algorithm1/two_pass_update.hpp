#pragma once
// The update of all blocks of a family with factors, in two passes over the rows: each panel of rows is read
// into cache once per pass, and all that can be done with it is done then.
#include "algorithm1/fitter_state.hpp"

namespace magva {

class Fitter::State::TwoPassUpdate {
 public:
  TwoPassUpdate(State& state, RowwiseFamily& rows);

  /// Steps 4 to 7 of Algorithm 1, from the model's gradients to the next blocks. True if the noise and the
  /// draws of the next iteration have been made on the way.
  bool run();

 private:
  /// For each panel: the gradients of mu, d2 and B; steps of mu and d2; what B's manifold needs to know.
  void gradient_pass();
  /// For each panel, from the last to the first: B's next rows, then the next iteration's noise and draws.
  void write_pass();
  /// What remains of mu and d2, and d1, whose gradient is a sum over all rows.
  void finish_scale_blocks();
  void prefetch_for_gradient_pass(Range rows, PrefetchQueue& prefetch);
  void prefetch_for_write_pass(Range rows, PrefetchQueue& prefetch);
  /// The noise has a row for each factor and then one for each coordinate.
  Range epsilon_rows(Range rows) const;

  State& state_;
  RowwiseFamily& rows_;
  MovingBlock mean_, residual_scale_, factors_;
};

}  // namespace magva
