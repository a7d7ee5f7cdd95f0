#pragma once
// What an iteration does with the rows of all blocks while the factors' update has them in cache: their
// gradients, the updates of mu and d2, and, once the factors are written, the draws of the next iteration.
#include "algorithm1/fitter_state.hpp"

namespace magva {

class Fitter::State::Sweeps final : public GradientPanels {
 public:
  Sweeps(State& state, RowwiseFamily& family);
  Panel make(Range rows, Index task, const MutablePanel& place) override;
  Panel made(Range rows, const Panel& place) override { return family_.made(rows, place); }
  void look_ahead_to_make(Range rows, Ahead& ahead) override;
  void all_made() override;
  void wrote(Range rows, Index task) override;
  void look_ahead_to_wrote(Range rows, Ahead& ahead) override;
  /// `written`: whether wrote() was called for all rows.
  void finish(bool written);

 private:
  /// The noise has a row for each factor and then one for each coordinate.
  Index first_epsilon() const { return state_.noise.rows() - state_.theta.rows(); }
  void look_ahead_to_noise(Range rows, Ahead& ahead);
  /// Of the blocks that need the sums over all rows: d1.
  void update_the_rest();

  State& state_;
  RowwiseFamily& family_;
};

}  // namespace magva
