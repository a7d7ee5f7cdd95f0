#pragma once
// How the rules go over a block. A rule is one stage over panels of rows, or two where a matrix must be
// projected in between: the first stage measures it, the second subtracts its normal part. On a flat block
// nothing is measured and both stages are done in one sweep.
//
// A rule has, for a manifold M,
//  - direction(x, gradient, out, kernel, made): writes a matrix V whose projection is the rule's step U, and
//    calls made(rows, task) when `out` has these rows of V;
//  - settle(x, rows, step): what remains to be done with its memory when `step` knows V's projection, before
//    these rows of x change;
//  - state(): its memory, for checkpoints.
#include <array>

#include "magva/block.hpp"
#include "magva/large_matrix.hpp"
#include "magva/manifold/tangent.hpp"
#include "magva/manifold/tangent_step.hpp"
#include "magva/rule/elementwise.hpp"

namespace magva::rule {

/// Calls body(n, numbers, offset) for n numbers of g at a time, which belong to those of stretches from
/// `offset` on: for all at once where g is a stretch, too.
template <class Body>
void over(const Panel& g, Body&& body) {
  if (g.stride == g.rows) return body(g.rows * g.cols, g.data, 0);
  for (Index j = 0; j < g.cols; ++j) body(g.rows, g.col(j), j * g.rows);
}

/// Where a rule writes V: a stretch of memory for all rows, or, where each panel is done with before the
/// next, the task's scratch memory.
struct Place {
  MatrixRef memory;
  TallSkinny* scratch;  ///< null where `memory` is used
  MutablePanel operator()(Range r, Index task) {
    return scratch != nullptr ? scratch->scratch_panel(r, memory.cols(), task) : stretch(memory, r);
  }
};

/// The rules' memory is in stretches. The gradient's rows are in `out` until a stage writes there.
struct Workplace {
  ConstMatrixRef x;
  GradientPanels& gradient;
  Place& out;
  TallSkinny& kernel;
};

template <class Stage>
void in_one_stage(Workplace at, Stage&& stage) {
  sweep(at.x.rows(), at.kernel.workers(), [&](Range r, Index task) {
    fetch_next(at.x, r);
    stage(r, task, at.gradient.make(r, task, at.out(r, task)));
  });
}

template <Manifold M, class First, class Solve, class Last>
void in_two_stages(Workplace at, First&& first, Solve&& solve, Last&& last) {
  if constexpr (M::geometry == Geometry::kFlat) {
    in_one_stage(at, [&](Range r, Index task, const Panel& g) {
      first(r, task, g);
      last(r, task, g);
    });
  } else {
    in_one_stage(at, first);
    solve();
    sweep(at.x.rows(), at.kernel.workers(), [&](Range r, Index task) {
      fetch_next(at.x, r);
      last(r, task, at.gradient.made(r, as_const(at.out(r, task))));
    });
  }
}

}  // namespace magva::rule
