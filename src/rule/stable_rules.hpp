#pragma once
// Rules whose second moments are element-wise and stay non-negative; the step is projected.
#include "rule/stages.hpp"

namespace magva::rule {

/// RMSProp.
template <Manifold M>
class RmspropStable : public Stages<M> {
 public:
  RmspropStable(const RuleOptions& options, Index rows, Index cols)
      : options_(options), squares_(huge_page_zeros(rows, cols)) {}
  void direct(ConstMatrixRef, Range r, Index, const Panel& g, const MutablePanel& v) {
    double* squares = packed_tile(squares_, r).data;
    over(g, [&](Index n, const double* gradients, Index k) {
      rmsprop_stable_step(n, options_, gradients, squares + k, v.data + k);
    });
  }
  std::array<Matrix*, 1> state() { return {&squares_}; }

 private:
  RuleOptions options_;
  Matrix squares_;
};

/// ADADELTA of Zeiler (2012).
template <Manifold M>
class AdadeltaStable : public Stages<M> {
 public:
  AdadeltaStable(const RuleOptions& options, Index rows, Index cols)
      : options_(options), squares_(huge_page_zeros(rows, cols)), steps_(huge_page_zeros(rows, cols)) {}
  void direct(ConstMatrixRef, Range r, Index, const Panel& g, const MutablePanel& v) {
    double* squares = packed_tile(squares_, r).data;
    double* steps = packed_tile(steps_, r).data;
    over(g, [&](Index n, const double* gradients, Index k) {
      adadelta_stable_step(n, options_, gradients, squares + k, steps + k, v.data + k);
    });
  }
  std::array<Matrix*, 2> state() { return {&squares_, &steps_}; }

 private:
  RuleOptions options_;
  Matrix squares_, steps_;
};

/// Adam on the Riemannian gradient (Becigneul & Ganea 2019), its first moment transported, its second moment
/// element-wise; both corrected for their start at zero.
template <Manifold M>
class Adam : public Stages<M> {
 public:
  static constexpr bool kTwoStages = true;
  Adam(const RuleOptions& options, Index rows, Index cols)
      : options_(options),
        mean_(huge_page_zeros(rows, cols)),
        squares_(huge_page_zeros(rows, cols)),
        powers_(Matrix::Ones(2, 1)),
        of_gradient_(rows, cols),
        of_mean_(rows, cols) {}
  void begin(ConstMatrixRef x, TallSkinny&) {
    powers_(0) *= options_.momentum;
    powers_(1) *= options_.decay;
    of_gradient_.start(x.cols());
    of_mean_.start(x.cols());
  }
  void enter(ConstMatrixRef x, Range r, Index task, const Panel& g) {
    const MutablePanel mean = packed_tile(mean_, r);
    over(g, [&](Index n, const double* gradients, Index k) {
      blend(n, options_.momentum, mean.data + k, 1 - options_.momentum, gradients, mean.data + k);
    });
    of_mean_.measure(panel(x, r), as_const(mean), task);
    of_gradient_.measure(panel(x, r), g, task);
  }
  void solve(TallSkinny& kernel) {
    of_mean_.solve(kernel);
    of_gradient_.solve(kernel);
  }
  void direct(ConstMatrixRef x, Range r, Index, const Panel& g, const MutablePanel& v) {
    const MutablePanel mean = packed_tile(mean_, r);
    of_mean_.project(panel(x, r), mean, r);
    over(g, [&](Index n, const double* gradients, Index k) {
      if (gradients != v.data + k) std::copy_n(gradients, n, v.data + k);
    });
    of_gradient_.project(panel(x, r), v, r);
    adam_step(r.size() * x.cols(), options_, powers_(0), powers_(1), mean.data, packed_tile(squares_, r).data,
              v.data);
  }
  std::array<Matrix*, 3> state() { return {&mean_, &squares_, &powers_}; }

 private:
  RuleOptions options_;
  Matrix mean_, squares_, powers_;
  Tangent<M> of_gradient_, of_mean_;
};

}  // namespace magva::rule
