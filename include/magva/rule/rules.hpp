#pragma once
// The update rules of the paper's section 3.2, each written once for flat and curved blocks. All of them
// descend f = -ELBO. A rule takes the Euclidean gradient of f at x and gives a tangent step U, to be
// retracted: the next point is R_x(-U). Every rule is odd in the gradient: fed with the gradient of the ELBO,
// it ascends by R_x(U).
//
// A rule is a sequence of stages over panels of rows; where a matrix must be projected, one stage measures it
// and the next subtracts its normal part. Projections are linear and vectors are transported by projection,
// so that beta transport(E) + (1 - beta) project(V) is one projection of the sum. On a flat block nothing is
// measured and all stages are done in one sweep. The last stage calls finish(rows, task) when `out` has these
// rows of U.
#include <array>

#include "magva/manifold/tangent.hpp"
#include "magva/rule/elementwise.hpp"

namespace magva::rule {

/// One sweep per stage with `solve` in between, or one sweep for all where there is nothing to solve.
template <Manifold M, class First, class Solve, class Last>
void in_stages(Index rows, Workers& workers, First&& first, Solve&& solve, Last&& last) {
  if constexpr (M::geometry == Geometry::kFlat) {
    sweep(rows, workers, [&](Range r, Index task) {
      first(r, task);
      last(r, task);
    });
  } else {
    sweep(rows, workers, first);
    solve();
    sweep(rows, workers, last);
  }
}

template <Manifold M, class First, class Solve, class Second, class SolveAgain, class Last>
void in_stages(Index rows, Workers& workers, First&& first, Solve&& solve, Second&& second,
               SolveAgain&& solve_again, Last&& last) {
  if constexpr (M::geometry == Geometry::kFlat) {
    sweep(rows, workers, [&](Range r, Index task) {
      first(r, task);
      second(r, task);
      last(r, task);
    });
  } else {
    sweep(rows, workers, first);
    solve();
    sweep(rows, workers, second);
    solve_again();
    sweep(rows, workers, last);
  }
}

template <class Body>
void each_column(Range rows, Index cols, Body&& body) {
  for (Index j = 0; j < cols; ++j) body(rows.size(), j);
}

/// The numbers of column j from the range's first row on.
inline const double* at(ConstMatrixRef x, Range r, Index j) { return &x.coeffRef(r.begin, j); }
inline double* in(MatrixRef x, Range r, Index j) { return &x.coeffRef(r.begin, j); }

/// RGD-Basic, the paper's equation (RGD): U = alpha grad f.
template <Manifold M>
class Basic {
 public:
  Basic(const RuleOptions& options, Index rows, Index cols) : options_(options), step_(rows, cols) {}
  template <class Finish>
  void direction(ConstMatrixRef x, ConstMatrixRef gradient, MatrixRef out, TallSkinny& kernel,
                 Finish&& finish) {
    step_.start(x.cols());
    in_stages<M>(
        x.rows(), kernel.workers(),
        [&](Range r, Index task) {
          each_column(r, x.cols(), [&](Index n, Index j) {
            blend(n, options_.step, at(gradient, r, j), 0, at(gradient, r, j), in(out, r, j));
          });
          step_.measure(panel(x, r), panel(out, r), task);
        },
        [&] { step_.solve(kernel); },
        [&](Range r, Index task) {
          step_.project(panel(x, r), mutable_panel(out, r), r);
          finish(r, task);
        });
  }
  std::array<Matrix*, 0> state() { return {}; }

 private:
  RuleOptions options_;
  Tangent<M> step_;
};

/// cRGD-M: m <- beta transport(m) + alpha grad f, U = m.
template <Manifold M>
class Momentum {
 public:
  Momentum(const RuleOptions& options, Index rows, Index cols)
      : options_(options), momentum_(Matrix::Zero(rows, cols)), tangent_(rows, cols) {}
  template <class Finish>
  void direction(ConstMatrixRef x, ConstMatrixRef gradient, MatrixRef out, TallSkinny& kernel,
                 Finish&& finish) {
    tangent_.start(x.cols());
    in_stages<M>(
        x.rows(), kernel.workers(),
        [&](Range r, Index task) {
          each_column(r, x.cols(), [&](Index n, Index j) {
            double* momentum = in(momentum_, r, j);
            blend(n, options_.decay, momentum, options_.step, at(gradient, r, j), momentum);
          });
          tangent_.measure(panel(x, r), panel(momentum_, r), task);
        },
        [&] { tangent_.solve(kernel); },
        [&](Range r, Index task) {
          tangent_.project(panel(x, r), mutable_panel(momentum_, r), r);
          out.middleRows(r.begin, r.size()) = momentum_.middleRows(r.begin, r.size());
          finish(r, task);
        });
  }
  std::array<Matrix*, 1> state() { return {&momentum_}; }

 private:
  RuleOptions options_;
  Matrix momentum_;
  Tangent<M> tangent_;
};

/// RGD-RMSProp as printed, the paper's equations (Proj118-7) and (G2).
template <Manifold M>
class Rmsprop {
 public:
  Rmsprop(const RuleOptions& options, Index rows, Index cols)
      : options_(options),
        squares_(Matrix::Zero(rows, cols)),
        of_squares_(rows, cols),
        of_step_(rows, cols) {}
  template <class Finish>
  void direction(ConstMatrixRef x, ConstMatrixRef gradient, MatrixRef out, TallSkinny& kernel,
                 Finish&& finish) {
    of_squares_.start(x.cols());
    of_step_.start(x.cols());
    in_stages<M>(
        x.rows(), kernel.workers(),
        [&](Range r, Index task) {
          each_column(r, x.cols(), [&](Index n, Index j) {
            blend_squares(n, options_.decay, at(gradient, r, j), in(squares_, r, j));
          });
          of_squares_.measure(panel(x, r), panel(squares_, r), task);
        },
        [&] { of_squares_.solve(kernel); },
        [&](Range r, Index task) {
          of_squares_.project(panel(x, r), mutable_panel(squares_, r), r);
          each_column(r, x.cols(), [&](Index n, Index j) {
            rmsprop_step(n, options_, at(gradient, r, j), at(squares_, r, j), in(out, r, j));
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
  Tangent<M> of_squares_, of_step_;
};

/// RGD-AdaDelta as printed, the paper's equations (B3), (B1), (B2), (Proj118-9). The moment of the steps
/// lives in the tangent space at the previous point, with B(-1) = B(0).
template <Manifold M>
class Adadelta {
 public:
  Adadelta(const RuleOptions& options, Index rows, Index cols)
      : options_(options),
        squares_(Matrix::Zero(rows, cols)),
        steps_(Matrix::Zero(rows, cols)),
        previous_(Matrix::Zero(kFlat ? 0 : rows, kFlat ? 0 : cols)),
        started_(Matrix::Zero(1, 1)),
        of_squares_(rows, cols),
        of_steps_(rows, cols),
        of_step_(rows, cols) {}
  template <class Finish>
  void direction(ConstMatrixRef x, ConstMatrixRef gradient, MatrixRef out, TallSkinny& kernel,
                 Finish&& finish) {
    if (!kFlat && started_(0) == 0) previous_ = x;
    started_(0) = 1;
    of_squares_.start(x.cols());
    of_steps_.start(x.cols());
    of_step_.start(x.cols());
    in_stages<M>(
        x.rows(), kernel.workers(),
        [&](Range r, Index task) {
          each_column(r, x.cols(), [&](Index n, Index j) {
            blend_squares(n, options_.decay, at(gradient, r, j), in(squares_, r, j));
          });
          of_squares_.measure(panel(x, r), panel(squares_, r), task);
        },
        [&] { of_squares_.solve(kernel); },
        [&](Range r, Index task) {
          of_squares_.project(panel(x, r), mutable_panel(squares_, r), r);
          each_column(r, x.cols(), [&](Index n, Index j) {
            adadelta_step(n, options_, at(gradient, r, j), at(squares_, r, j), in(steps_, r, j),
                          in(out, r, j));
          });
          of_steps_.measure(before(x, r), panel(steps_, r), task);
          of_step_.measure(panel(x, r), panel(out, r), task);
        },
        [&] {
          of_steps_.solve(kernel);
          of_step_.solve(kernel);
        },
        [&](Range r, Index task) {
          of_steps_.project(before(x, r), mutable_panel(steps_, r), r);
          of_step_.project(panel(x, r), mutable_panel(out, r), r);
          if constexpr (!kFlat) previous_.middleRows(r.begin, r.size()) = x.middleRows(r.begin, r.size());
          finish(r, task);
        });
  }
  std::array<Matrix*, 4> state() { return {&squares_, &steps_, &previous_, &started_}; }

 private:
  static constexpr bool kFlat = M::geometry == Geometry::kFlat;
  Panel before(ConstMatrixRef x, Range r) const { return kFlat ? panel(x, r) : panel(previous_, r); }

  RuleOptions options_;
  Matrix squares_, steps_, previous_, started_;
  Tangent<M> of_squares_, of_steps_, of_step_;
};

}  // namespace magva::rule
