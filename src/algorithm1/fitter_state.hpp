#pragma once
// What a fit carries from one iteration to the next, and the memory that an iteration uses.
#include <chrono>

#include "algorithm1/fitter.hpp"

namespace magva {

struct Fitter::State {
  State(const Model& model, const FitterOptions& options, const Whitening& whitening, ConstVectorRef start);
  virtual ~State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  /// On the model's device if it has one for the family.
  static std::unique_ptr<State> make(const Model& model, const FitterOptions& options,
                                     const Whitening& whitening, ConstVectorRef start);

  class TwoPassUpdate;
  class OnDevice;

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
  virtual void draw();
  virtual void evaluate_model();
  /// In antithetic pairs. Leaves columns with the mean and the half-differences of the true gradients, which
  /// is all that the family's estimates depend on. False if not all is finite.
  bool evaluate_pairs(Evaluation& evaluation);
  virtual bool finite_gradient(Index draw);
  /// Leaves it out of all sums.
  virtual void drop_draw(Index draw) { gradient.col(draw).setZero(); }
  void weigh_draws();
  virtual void update_blocks();
  void update_blocks_naturally();
  void update_each_block();
  void update_block(BlockKind kind);
  void average_blocks();
  virtual void add_to_average(double share);
  virtual void keep_good_blocks();
  virtual bool healthy() const;
  /// Factorises the covariance at the current blocks.
  virtual void prepare() { family->prepare(); }
  /// Blocks and memories are here, for results and checkpoints.
  virtual void fetch_blocks() {}
  /// The same, and they may be changed here.
  virtual void release_blocks() {}
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
