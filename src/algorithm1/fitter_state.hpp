#pragma once
// What a fit carries from one iteration to the next, and the memory that an iteration uses.
#include <chrono>

#include "algorithm1/fitter.hpp"

namespace magva {

struct Fitter::State {
  State(const Model& model, const FitterOptions& options, const Whitening& whitening, ConstVectorRef start);

  class TwoPassUpdate;

  /// A block and what moves it.
  struct MovingBlock {
    Block& block;
    BlockUpdate& update;
  };
  /// There must be one of that kind.
  MovingBlock moving(BlockKind kind);

  void set_whitening(const Whitening& to);
  /// Some rows of it.
  void draw_noise(std::int64_t for_iteration, Range rows);
  void draw();
  void evaluate_model();
  /// In antithetic pairs. Leaves columns with the mean and the half-differences of the true gradients, which
  /// is all that the family's estimates depend on. False if not all is finite.
  bool evaluate_pairs(Evaluation& evaluation);
  bool finite_gradient(Index draw);
  void weigh_draws();
  void update_blocks();
  void update_blocks_naturally();
  void update_each_block();
  void update_block(BlockKind kind);
  void average_blocks();
  void keep_good_blocks();
  bool healthy() const;
  double step_scale() const;
  double seconds() const;

  const Model& model;
  FitterOptions options;
  Whitening whitening;
  bool whitened = false;  // false if it changes nothing
  double whitening_log_det = 0;
  std::unique_ptr<Workers> workers;
  std::unique_ptr<Family> family;
  std::vector<std::unique_ptr<BlockUpdate>> updates;  // one per block, in their order
  std::unique_ptr<TallSkinny> kernel;
  std::unique_ptr<Scratch> scratch;

  std::int64_t iteration = 0;
  std::int64_t evaluations = 0;
  std::int64_t rejected = 0;
  std::int64_t rejected_in_a_row = 0;
  std::int64_t averaged = 0;
  double scale = 1;
  double elbo = std::numeric_limits<double>::quiet_NaN();
  double earlier_seconds = 0;
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  std::vector<Block> average;  // of the last iterates; empty if none is wanted
  std::vector<Block> good;     // the last blocks known to be finite

  Matrix noise, theta, gradient;  // one column per draw
  bool drawn = false;             // `noise` and `theta` are those of this iteration already
  Vector log_density, weight;
  Vector zeros;  // one per task: sums that are not a number if something is not finite
};

}  // namespace magva
