#pragma once
// Rules whose second moments are element-wise and stay non-negative; the step is projected.
#include "magva/rule/rules.hpp"

namespace magva::rule {

/// RMSProp.
template <Manifold M>
class RmspropStable {
 public:
  RmspropStable(const RuleOptions& options, Index rows, Index cols)
      : options_(options), squares_(Matrix::Zero(rows, cols)), of_step_(rows, cols) {}
  template <class Finish>
  void direction(ConstMatrixRef x, ConstMatrixRef gradient, MatrixRef out, TallSkinny& kernel,
                 Finish&& finish) {
    of_step_.start(x.cols());
    in_stages<M>(
        x.rows(), kernel.workers(),
        [&](Range r, Index task) {
          each_column(r, x.cols(), [&](Index n, Index j) {
            rmsprop_stable_step(n, options_, at(gradient, r, j), in(squares_, r, j), in(out, r, j));
          });
          of_step_.measure(panel(x, r), panel(out, r), task);
        },
        [&] { of_step_.solve(kernel); },
        [&](Range r, Index task) {
          of_step_.project(panel(x, r), mutable_panel(out, r), r);
          finish(r, task);
        });
  }
  std::array<Matrix*, 1> state() { return {&squares_}; }

 private:
  RuleOptions options_;
  Matrix squares_;
  Tangent<M> of_step_;
};

/// ADADELTA of Zeiler (2012).
template <Manifold M>
class AdadeltaStable {
 public:
  AdadeltaStable(const RuleOptions& options, Index rows, Index cols)
      : options_(options),
        squares_(Matrix::Zero(rows, cols)),
        steps_(Matrix::Zero(rows, cols)),
        of_step_(rows, cols) {}
  template <class Finish>
  void direction(ConstMatrixRef x, ConstMatrixRef gradient, MatrixRef out, TallSkinny& kernel,
                 Finish&& finish) {
    of_step_.start(x.cols());
    in_stages<M>(
        x.rows(), kernel.workers(),
        [&](Range r, Index task) {
          each_column(r, x.cols(), [&](Index n, Index j) {
            adadelta_stable_step(n, options_, at(gradient, r, j), in(squares_, r, j), in(steps_, r, j),
                                 in(out, r, j));
          });
          of_step_.measure(panel(x, r), panel(out, r), task);
        },
        [&] { of_step_.solve(kernel); },
        [&](Range r, Index task) {
          of_step_.project(panel(x, r), mutable_panel(out, r), r);
          finish(r, task);
        });
  }
  std::array<Matrix*, 2> state() { return {&squares_, &steps_}; }

 private:
  RuleOptions options_;
  Matrix squares_, steps_;
  Tangent<M> of_step_;
};

/// Adam on the Riemannian gradient (Becigneul & Ganea 2019), its first moment transported, its second moment
/// element-wise; both corrected for their start at zero.
template <Manifold M>
class Adam {
 public:
  Adam(const RuleOptions& options, Index rows, Index cols)
      : options_(options),
        mean_(Matrix::Zero(rows, cols)),
        squares_(Matrix::Zero(rows, cols)),
        powers_(Matrix::Ones(2, 1)),
        of_gradient_(rows, cols),
        of_mean_(rows, cols),
        of_step_(rows, cols) {}
  template <class Finish>
  void direction(ConstMatrixRef x, ConstMatrixRef gradient, MatrixRef out, TallSkinny& kernel,
                 Finish&& finish) {
    powers_(0) *= options_.momentum;
    powers_(1) *= options_.decay;
    of_gradient_.start(x.cols());
    of_mean_.start(x.cols());
    of_step_.start(x.cols());
    in_stages<M>(
        x.rows(), kernel.workers(),
        [&](Range r, Index task) {
          each_column(r, x.cols(), [&](Index n, Index j) {
            double* mean = in(mean_, r, j);
            blend(n, options_.momentum, mean, 1 - options_.momentum, at(gradient, r, j), mean);
          });
          of_mean_.measure(panel(x, r), panel(mean_, r), task);
          of_gradient_.measure(panel(x, r), panel(gradient, r), task);
        },
        [&] {
          of_mean_.solve(kernel);
          of_gradient_.solve(kernel);
        },
        [&](Range r, Index task) {
          of_mean_.project(panel(x, r), mutable_panel(mean_, r), r);
          out.middleRows(r.begin, r.size()) = gradient.middleRows(r.begin, r.size());
          of_gradient_.project(panel(x, r), mutable_panel(out, r), r);
          each_column(r, x.cols(), [&](Index n, Index j) {
            adam_step(n, options_, powers_(0), powers_(1), at(mean_, r, j), in(squares_, r, j),
                      in(out, r, j));
          });
          of_step_.measure(panel(x, r), panel(out, r), task);
        },
        [&] { of_step_.solve(kernel); },
        [&](Range r, Index task) {
          of_step_.project(panel(x, r), mutable_panel(out, r), r);
          finish(r, task);
        });
  }
  std::array<Matrix*, 3> state() { return {&mean_, &squares_, &powers_}; }

 private:
  RuleOptions options_;
  Matrix mean_, squares_, powers_;
  Tangent<M> of_gradient_, of_mean_, of_step_;
};

}  // namespace magva::rule
