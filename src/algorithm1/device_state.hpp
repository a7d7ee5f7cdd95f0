#pragma once
// A fit whose blocks are on a device: passes over their rows are made there, the algebra of p x p matrices
// here.
#include "algorithm1/device_family.hpp"
#include "algorithm1/fitter_state.hpp"
#include "family/low_rank.hpp"

namespace magva {

class Fitter::State::OnDevice final : public State {
 public:
  OnDevice(const FamilyHost& host, const Model& model, const FitterOptions& options,
           const Whitening& whitening, ConstVectorRef start);

  void draw() override;
  void evaluate_model() override;
  bool finite_gradient(Index draw) override;
  void drop_draw(Index) override {}  // its weight is 0, which the device knows
  void update_blocks() override;
  void add_to_average(double share) override;
  void keep_good_blocks() override;
  bool healthy() const override;
  void prepare() override;
  void fetch_blocks() override;
  void release_blocks() override;

 private:
  /// What is sent to a pass: numbers and small matrices, one after another.
  class Given {
   public:
    explicit Given(Vector& memory) : memory_(memory) {}
    Given& add(double value);
    Given& add(ConstMatrixRef values);
    const double* data() const { return memory_.data(); }

   private:
    Vector& memory_;
    Index used_ = 0;
  };

  void place_blocks();
  /// Calls move(block, part, matrix) for all that is on the device.
  template <class Move>
  void for_each_part(const Move& move);
  void draw_for(std::int64_t at);
  void add_path_term();
  void run_gradient_pass();
  void remember_first_factors();
  /// V, whose projection is the step of a rule that needs two stages to know it.
  void direct_factors();
  /// From B'B, B'V, V'V and, if the rule has them, previous' steps at `first` of the sums. True if the passes
  /// gave B's next value, false if it had to be retracted without what is not finite.
  bool step_factors(Index first);
  void retract_plainly(ConstMatrixRef normal, ConstMatrixRef normal_steps);
  void polar();
  BlockUpdate& factor_update() { return moving(BlockKind::kFactors).update; }
  /// p x `cols` of the sums.
  MatrixRef sums(Index first, Index cols);
  /// Those p x p of them that project: S of B'V.
  MatrixRef normal_part(Index first);

  const FamilyHost& host_;
  LowRank& low_rank_;
  magva_cuda_family_options device_options_;
  Index rank_;
  bool curved_;
  std::unique_ptr<DeviceFamily> device_;  // null until the blocks are placed
  bool placed_ = false;                   // the blocks on the device are the current ones
  Vector given_, sums_, finite_, powers_;
  Matrix left_, right_, scratch_;
  double mean_zero_ = 0;  // not 0 if the mean is not finite
};

}  // namespace magva
