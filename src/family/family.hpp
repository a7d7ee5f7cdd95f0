#pragma once
// A variational family: how the noise becomes draws, and what the ELBO's gradient is in each of its blocks.
#include <memory>
#include <string>
#include <vector>

#include "magva/algorithm1.hpp"
#include "magva/posterior.hpp"
#include "rule/block.hpp"

namespace magva {

/// A family with factors whose gradients and draws can be computed some rows at a time, by the two passes of
/// an iteration.
class RowwiseFamily {
 public:
  virtual ~RowwiseFamily() = default;

  /// Family::gradient() in parts: this, compute_gradient_rows() for all rows, finish_gradient(). The
  /// arguments must last until then.
  virtual void start_gradient(ConstMatrixRef noise, ConstVectorRef weight, Estimator estimator,
                              MatrixRef model_gradient) = 0;
  /// These rows of the gradients. That of the factors is written to `factors`; those of the mean and the
  /// residual scales are in memory of the task's own until its next call.
  struct GradientRows {
    MutablePanel mean, residual_scale;
  };
  virtual GradientRows compute_gradient_rows(Range rows, Index task, const MutablePanel& factors) = 0;
  /// Fills the gradients of blocks that have other rows.
  virtual void finish_gradient() = 0;

  /// Family::prepare_and_draw() in parts: this, draw_rows() for all rows in the order of sweep_back(),
  /// finish_draw().
  virtual void start_draw(ConstMatrixRef noise, MatrixRef phi) = 0;
  virtual void draw_rows(Range rows, Index task) = 0;
  virtual void finish_draw() = 0;
};

/// A Gaussian q(phi) with a block for its mean, which comes first, and further blocks for its covariance.
///
/// One iteration calls, in this order, prepare_and_draw() and then gradient() with the model's gradients at
/// those draws. None of them allocates. `Noise` columns are draws; column s of `z` and of `epsilon` belong to
/// draw s.
class Family {
 public:
  virtual ~Family() = default;

  std::vector<Block>& blocks() { return blocks_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  /// There must be one of that kind.
  Block& block(BlockKind kind) { return *find_block(blocks_, kind); }
  Index dimension() const { return blocks_.front().value.rows(); }
  /// How many normals a draw needs: p + m for low rank, m for mean-field and full rank.
  virtual Index noise_size() const = 0;

  /// Factorises the covariance at the current blocks.
  virtual void prepare() = 0;
  virtual void draw(ConstMatrixRef noise, MatrixRef phi) = 0;
  /// Both, where a family can do them in one pass.
  virtual void prepare_and_draw(ConstMatrixRef noise, MatrixRef phi) {
    prepare();
    draw(noise, phi);
  }
  /// The entropy of q, (1/2) log|Sigma| + (m/2)(log 2 pi + 1).
  virtual double entropy() const = 0;
  /// Fills every block's gradient from the model's gradients in `model_gradient`, one column per draw, which
  /// the path estimator overwrites. A rejected draw has a zero in `weight`; weights sum to 1.
  virtual void gradient(ConstMatrixRef noise, ConstVectorRef weight, Estimator estimator,
                        MatrixRef model_gradient) = 0;
  /// Null if gradients and draws cannot be computed by rows.
  virtual RowwiseFamily* by_rows() { return nullptr; }
  /// v <- Sigma v: turns the mean's gradient into its natural gradient.
  virtual void times_covariance(VectorRef v) = 0;

  /// The Gaussian at the given block values, which have the shapes of blocks().
  virtual Gaussian gaussian(const std::vector<Block>& at) const = 0;
  Gaussian gaussian() const { return gaussian(blocks_); }

 protected:
  std::vector<Block> blocks_;
};

struct FamilyOptions {
  FamilyKind kind = FamilyKind::kStiefel;
  Index rank = 4;
  ScaleCoordinates scales = ScaleCoordinates::kPlain;
  double initial_factor_scale = 1;    ///< d1, or the size of B's columns where d1 is fixed at 1 and B is free
  double initial_residual_scale = 1;  ///< d2
};

/// The family at its starting values: the mean at zero, random factors from the seed.
std::unique_ptr<Family> make_family(const FamilyOptions& options, Index dimension, Index max_draws,
                                    std::uint64_t seed, Workers& workers);

}  // namespace magva
