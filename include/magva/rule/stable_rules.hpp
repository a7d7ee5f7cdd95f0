#pragma once
// Rules whose second moments are element-wise and stay non-negative; the step is projected.
#include "magva/rule/stages.hpp"

namespace magva::rule {

/// RMSProp.
template <Manifold M>
class RmspropStable {
 public:
  RmspropStable(const RuleOptions& options, Index rows, Index cols)
      : options_(options), squares_(large_zeros(rows, cols)) {}
  template <class Made>
  void direction(ConstMatrixRef x, GradientPanels& gradient, Place& out, TallSkinny& kernel, Made&& made) {
    in_one_stage({x, gradient, out, kernel}, [&](Range r, Index task, const Panel& g) {
      double* squares = stretch(squares_, r).data;
      double* step = out(r, task).data;
      over(g, [&](Index n, const double* gradients, Index k) {
        rmsprop_stable_step(n, options_, gradients, squares + k, step + k);
      });
      made(r, task);
    });
  }
  void settle(ConstMatrixRef, Range, const TangentStep<M>&) {}
  std::array<Matrix*, 1> state() { return {&squares_}; }

 private:
  RuleOptions options_;
  Matrix squares_;
};

/// ADADELTA of Zeiler (2012).
template <Manifold M>
class AdadeltaStable {
 public:
  AdadeltaStable(const RuleOptions& options, Index rows, Index cols)
      : options_(options), squares_(large_zeros(rows, cols)), steps_(large_zeros(rows, cols)) {}
  template <class Made>
  void direction(ConstMatrixRef x, GradientPanels& gradient, Place& out, TallSkinny& kernel, Made&& made) {
    in_one_stage({x, gradient, out, kernel}, [&](Range r, Index task, const Panel& g) {
      double* squares = stretch(squares_, r).data;
      double* steps = stretch(steps_, r).data;
      double* step = out(r, task).data;
      over(g, [&](Index n, const double* gradients, Index k) {
        adadelta_stable_step(n, options_, gradients, squares + k, steps + k, step + k);
      });
      made(r, task);
    });
  }
  void settle(ConstMatrixRef, Range, const TangentStep<M>&) {}
  std::array<Matrix*, 2> state() { return {&squares_, &steps_}; }

 private:
  RuleOptions options_;
  Matrix squares_, steps_;
};

/// Adam on the Riemannian gradient (Becigneul & Ganea 2019), its first moment transported, its second moment
/// element-wise; both corrected for their start at zero.
template <Manifold M>
class Adam {
 public:
  Adam(const RuleOptions& options, Index rows, Index cols)
      : options_(options),
        mean_(large_zeros(rows, cols)),
        squares_(large_zeros(rows, cols)),
        powers_(Matrix::Ones(2, 1)),
        of_gradient_(rows, cols),
        of_mean_(rows, cols) {}
  template <class Made>
  void direction(ConstMatrixRef x, GradientPanels& gradient, Place& out, TallSkinny& kernel, Made&& made) {
    powers_(0) *= options_.momentum;
    powers_(1) *= options_.decay;
    of_gradient_.start(x.cols());
    of_mean_.start(x.cols());
    in_two_stages<M>(
        {x, gradient, out, kernel},
        [&](Range r, Index task, const Panel& g) {
          const MutablePanel mean = stretch(mean_, r);
          over(g, [&](Index n, const double* gradients, Index k) {
            blend(n, options_.momentum, mean.data + k, 1 - options_.momentum, gradients, mean.data + k);
          });
          of_mean_.measure(panel(x, r), as_const(mean), task);
          of_gradient_.measure(panel(x, r), g, task);
        },
        [&] {
          of_mean_.solve(kernel);
          of_gradient_.solve(kernel);
        },
        [&](Range r, Index task, const Panel& g) {
          const MutablePanel mean = stretch(mean_, r);
          const MutablePanel step = out(r, task);
          of_mean_.project(panel(x, r), mean, r);
          over(g, [&](Index n, const double* gradients, Index k) {
            if (gradients != step.data + k) std::copy_n(gradients, n, step.data + k);
          });
          of_gradient_.project(panel(x, r), step, r);
          adam_step(r.size() * x.cols(), options_, powers_(0), powers_(1), mean.data,
                    stretch(squares_, r).data, step.data);
          made(r, task);
        });
  }
  void settle(ConstMatrixRef, Range, const TangentStep<M>&) {}
  std::array<Matrix*, 3> state() { return {&mean_, &squares_, &powers_}; }

 private:
  RuleOptions options_;
  Matrix mean_, squares_, powers_;
  Tangent<M> of_gradient_, of_mean_;
};

}  // namespace magva::rule
