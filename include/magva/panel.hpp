#pragma once
// A panel: some consecutive rows of a tall matrix, few enough that all that is done with them happens in
// cache. One sweep over the panels of a matrix does as many operations as possible on each.
#include <algorithm>

#include "magva/types.hpp"
#include "magva/workers.hpp"

namespace magva {

/// Column j starts at data + j * stride.
template <class Number>
struct PanelOf {
  Number* data;
  Index stride;
  Index rows;
  Index cols;
  Number* col(Index j) const { return data + j * stride; }
};
using Panel = PanelOf<const double>;
using MutablePanel = PanelOf<double>;

inline Panel panel(ConstMatrixRef x, Range rows) {
  return {x.data() + rows.begin, x.outerStride(), rows.size(), x.cols()};
}
inline MutablePanel mutable_panel(MatrixRef x, Range rows) {
  return {x.data() + rows.begin, x.outerStride(), rows.size(), x.cols()};
}
inline Panel as_const(const MutablePanel& x) { return {x.data, x.stride, x.rows, x.cols}; }

/// These rows of `memory`, which has the shape of a tall matrix and is used by sweeps alone: one panel is
/// stored after the other, so that the processor sees one long stretch and fetches ahead.
inline MutablePanel stretch(MatrixRef memory, Range rows) {
  return {memory.data() + rows.begin * memory.cols(), rows.size(), rows.size(), memory.cols()};
}

/// How many tasks the rows are cut into: by their number alone.
Index row_tasks(Index rows);

/// A' B summed over panels. Each task has a sum of its own and they are added in order, so that the result
/// does not depend on the number of threads.
class GramSum {
 public:
  /// For A' B of at most p x k, A and B of at most `rows` rows.
  GramSum(Index rows, Index p, Index k) : sums_(p * k * row_tasks(rows)), tasks_(row_tasks(rows)) {}
  void start(Index p, Index k);
  void add(const Panel& a, const Panel& b, Index task);
  /// Where A' B is known to be symmetric.
  void add_symmetric(const Panel& a, const Panel& b, Index task);
  /// Adds the tasks up. Valid until the next start().
  MatrixRef total();
  MatrixRef symmetric_total();
  /// v <- v - x S, with S what the caller has made of the total.
  void subtract_product(const Panel& x, const MutablePanel& v) const;

 private:
  double* of(Index task) { return sums_.data() + p_ * k_ * task; }

  Vector sums_;  // p x k a task
  Index tasks_;
  Index p_ = 0;
  Index k_ = 0;
};

/// x <- x L + v R; `scratch` has the shape of x.
void combine(const MutablePanel& x, ConstMatrixRef left, const Panel& v, ConstMatrixRef right,
             const MutablePanel& scratch);

inline constexpr Index kPanelRows = 128;

/// Asks for the panel that a sweep comes to next, while this one is worked on: the columns' pieces are too
/// short for the processor to see where they go on.
inline void fetch_next(ConstMatrixRef x, Range rows) {
  constexpr Index kLine = 8;                  // numbers in a cache line
  constexpr Index kCached = Index{1} << 15U;  // numbers that stay in cache from one sweep to the next
  if (x.size() < kCached) return;
  const Index end = std::min(rows.end + rows.size(), x.rows());
  for (Index j = 0; j < x.cols(); ++j)
    for (Index i = rows.end; i < end; i += kLine)
      __builtin_prefetch(x.data() + i + j * x.outerStride(), 0, 2);
}

/// Calls body(rows, task) for every panel, tasks spread over the threads.
template <class Body>
void sweep(Index rows, Workers& workers, Body&& body) {
  const Index tasks = row_tasks(rows);
  workers.run(tasks, [&](Index task) {
    const Range all = piece(rows, tasks, task);
    for (Index begin = all.begin; begin < all.end; begin += kPanelRows)
      body(Range{begin, std::min(begin + kPanelRows, all.end)}, task);
  });
}

}  // namespace magva
