#pragma once
// How a rule goes over a block: some rows at a time, in one stage or in two where a matrix must be measured
// over all rows before any can be stepped. It takes the gradient's rows and writes those of a matrix V whose
// projection is the rule's step U. In an iteration, for a manifold M, the calls are
//  - begin(x, kernel);
//  - enter(x, rows, task, g) for all rows and then solve(kernel), if kTwoStages; on a flat block nothing is
//    measured, and enter() and direct() follow each other on the same rows;
//  - direct(x, rows, task, g, v) for all rows: writes V to the packed tile v, where g may be;
//  - end(kernel);
//  - finalize(x, rows, step) for all rows: what remains to be done with its memory when `step` knows V's
//    projection, before these rows of x change.
// state() is its memory, for checkpoints, all of it in packed tiles.
#include <array>

#include "core/huge_pages.hpp"
#include "manifold/tangent.hpp"
#include "manifold/tangent_step.hpp"
#include "rule/block.hpp"
#include "rule/elementwise.hpp"

namespace magva::rule {

/// Calls body(n, numbers, offset) for n numbers of g at a time, which belong to those of packed tiles from
/// `offset` on: for all at once if g is a packed tile, too.
template <class Body>
void over(const Panel& g, Body&& body) {
  if (g.stride == g.rows) return body(g.rows * g.cols, g.data, 0);
  for (Index j = 0; j < g.cols; ++j) body(g.rows, g.col(j), j * g.rows);
}

/// What most rules leave out.
template <Manifold M>
struct Stages {
  static constexpr bool kTwoStages = false;
  void begin(ConstMatrixRef, TallSkinny&) {}
  void end(TallSkinny&) {}
  void finalize(ConstMatrixRef, Range, const TangentStep<M>&) {}
};

}  // namespace magva::rule
