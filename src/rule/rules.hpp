#pragma once
// The update rules of the paper's section 3.2, each written once for flat and curved blocks. All of them
// descend f = -ELBO. A rule takes the Euclidean gradient of f at x and gives a tangent step U, to be
// retracted: the next point is R_x(-U). Every rule is odd in the gradient: fed with the gradient of the ELBO,
// it ascends by R_x(U).
//
// Projections are linear and vectors are transported by projection, so that
// beta transport(E) + (1 - beta) project(V) is one projection of the sum.
#include "rule/stages.hpp"

namespace magva::rule {

/// RGD-Basic, the paper's equation (RGD): U = alpha grad f.
template <Manifold M>
class Basic : public Stages<M> {
 public:
  Basic(const RuleOptions& options, Index, Index) : options_(options) {}
  void direct(ConstMatrixRef, Range, Index, const Panel& g, const MutablePanel& v) {
    over(g, [&](Index n, const double* gradients, Index k) {
      blend(n, options_.step, gradients, 0, gradients, v.data + k);
    });
  }
  std::array<Matrix*, 0> state() { return {}; }

 private:
  RuleOptions options_;
};

/// cRGD-M: m <- beta transport(m) + alpha grad f, U = m.
template <Manifold M>
class Momentum : public Stages<M> {
 public:
  Momentum(const RuleOptions& options, Index rows, Index cols)
      : options_(options), momentum_(huge_page_zeros(rows, cols)) {}
  void direct(ConstMatrixRef x, Range r, Index, const Panel& g, const MutablePanel& v) {
    double* momentum = packed_tile(momentum_, r).data;
    over(g, [&](Index n, const double* gradients, Index k) {
      blend(n, options_.decay, momentum + k, options_.step, gradients, momentum + k);
    });
    std::copy_n(momentum, r.size() * x.cols(), v.data);
  }
  void finalize(ConstMatrixRef x, Range r, const TangentStep<M>& step) {
    step.project(panel(x, r), packed_tile(momentum_, r), r);
  }
  std::array<Matrix*, 1> state() { return {&momentum_}; }

 private:
  RuleOptions options_;
  Matrix momentum_;
};

/// The printed rules' moment of the gradients, E <- beta transport(E) + (1 - beta) project(g^2): entered in
/// one stage, projected in the next.
template <Manifold M>
class ProjectedSquares {
 public:
  ProjectedSquares(double decay, Index rows, Index cols)
      : decay_(decay), squares_(huge_page_zeros(rows, cols)), tangent_(rows, cols) {}
  void start(Index cols) { tangent_.start(cols); }
  void enter(ConstMatrixRef x, Range r, Index task, const Panel& g) {
    const MutablePanel squares = packed_tile(squares_, r);
    over(g, [&](Index n, const double* gradients, Index k) {
      blend_squares(n, decay_, gradients, squares.data + k);
    });
    tangent_.measure(panel(x, r), as_const(squares), task);
  }
  void solve(TallSkinny& kernel) { tangent_.solve(kernel); }
  const double* project(ConstMatrixRef x, Range r) {
    const MutablePanel squares = packed_tile(squares_, r);
    tangent_.project(panel(x, r), squares, r);
    return squares.data;
  }
  Matrix* state() { return &squares_; }

 private:
  double decay_;
  Matrix squares_;
  Tangent<M> tangent_;
};

/// RGD-RMSProp as printed, the paper's equations (Proj118-7) and (G2).
template <Manifold M>
class Rmsprop : public Stages<M> {
 public:
  static constexpr bool kTwoStages = true;
  Rmsprop(const RuleOptions& options, Index rows, Index cols)
      : options_(options), squares_(options.decay, rows, cols) {}
  void begin(ConstMatrixRef x, TallSkinny&) { squares_.start(x.cols()); }
  void enter(ConstMatrixRef x, Range r, Index task, const Panel& g) { squares_.enter(x, r, task, g); }
  void solve(TallSkinny& kernel) { squares_.solve(kernel); }
  void direct(ConstMatrixRef x, Range r, Index, const Panel& g, const MutablePanel& v) {
    const double* squares = squares_.project(x, r);
    over(g, [&](Index n, const double* gradients, Index k) {
      rmsprop_step(n, options_, gradients, squares + k, v.data + k);
    });
  }
  std::array<Matrix*, 1> state() { return {squares_.state()}; }

 private:
  RuleOptions options_;
  ProjectedSquares<M> squares_;
};

/// RGD-AdaDelta as printed, the paper's equations (B3), (B1), (B2), (Proj118-9). The moment of the steps
/// lives in the tangent space at the previous point, with B(-1) = B(0).
template <Manifold M>
class Adadelta : public Stages<M> {
 public:
  static constexpr bool kTwoStages = true;
  Adadelta(const RuleOptions& options, Index rows, Index cols)
      : options_(options),
        squares_(options.decay, rows, cols),
        steps_(huge_page_zeros(rows, cols)),
        previous_(huge_page_zeros(kFlat ? 0 : rows, kFlat ? 0 : cols)),
        started_(Matrix::Zero(1, 1)),
        of_steps_(rows, cols) {}
  void begin(ConstMatrixRef x, TallSkinny& kernel) {
    if (!kFlat && started_(0) == 0)
      sweep(x.rows(), kernel.workers(), [&](Range r, Index) { remember(x, r); });
    started_(0) = 1;
    squares_.start(x.cols());
    of_steps_.start(x.cols());
  }
  void enter(ConstMatrixRef x, Range r, Index task, const Panel& g) { squares_.enter(x, r, task, g); }
  void solve(TallSkinny& kernel) { squares_.solve(kernel); }
  void direct(ConstMatrixRef x, Range r, Index task, const Panel& g, const MutablePanel& v) {
    const double* squares = squares_.project(x, r);
    const MutablePanel steps = packed_tile(steps_, r);
    over(g, [&](Index n, const double* gradients, Index k) {
      adadelta_step(n, options_, gradients, squares + k, steps.data + k, v.data + k);
    });
    of_steps_.measure(before(x, r), as_const(steps), task);
  }
  void end(TallSkinny& kernel) { of_steps_.solve(kernel); }
  void finalize(ConstMatrixRef x, Range r, const TangentStep<M>&) {
    of_steps_.project(before(x, r), packed_tile(steps_, r), r);
    if constexpr (!kFlat) remember(x, r);
  }
  std::array<Matrix*, 4> state() { return {squares_.state(), &steps_, &previous_, &started_}; }

 private:
  static constexpr bool kFlat = M::geometry == Geometry::kFlat;
  Panel before(ConstMatrixRef x, Range r) {
    return kFlat ? panel(x, r) : as_const(packed_tile(previous_, r));
  }
  void remember(ConstMatrixRef x, Range r) {
    const MutablePanel to = packed_tile(previous_, r);
    for (Index j = 0; j < x.cols(); ++j) std::copy_n(panel(x, r).col(j), r.size(), to.col(j));
  }

  RuleOptions options_;
  ProjectedSquares<M> squares_;
  Matrix steps_, previous_, started_;
  Tangent<M> of_steps_;
};

}  // namespace magva::rule
