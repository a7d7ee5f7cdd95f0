#pragma once
// A panel: some consecutive rows of a tall matrix, few enough that all that is done with them happens in
// cache. One sweep over the panels of a matrix does as many operations as possible on each.
#include <algorithm>

#include "core/prefetch.hpp"
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

/// A matrix without columns has no memory to point into.
template <class Number>
Number* first_of(Number* data, Index offset) {
  return data == nullptr ? nullptr : data + offset;
}

// Templates, because in a step of some microseconds it shows how often an Eigen::Ref is made.
template <class Columns>
Panel panel(const Columns& x, Range rows) {
  return {first_of(x.data(), rows.begin), x.outerStride(), rows.size(), x.cols()};
}
template <class Columns>
MutablePanel mutable_panel(Columns&& x, Range rows) {
  return {first_of(x.data(), rows.begin), x.outerStride(), rows.size(), x.cols()};
}
inline Panel as_const(const MutablePanel& x) { return {x.data, x.stride, x.rows, x.cols}; }

/// These rows of `memory`, which has the shape of a tall matrix and is used by sweeps alone: one panel is
/// stored after the other, so that the processor sees one long run of memory and prefetches it.
template <class Columns>
MutablePanel packed_tile(Columns&& memory, Range rows) {
  return {first_of(memory.data(), rows.begin * memory.cols()), rows.size(), rows.size(), memory.cols()};
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
  void add(const Panel& a, const Panel& b, Index task, PrefetchQueue& prefetch);
  /// Where A' B is known to be symmetric.
  void add_symmetric(const Panel& a, const Panel& b, Index task);
  void add_symmetric(const Panel& a, const Panel& b, Index task, PrefetchQueue& prefetch);
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
             const MutablePanel& scratch, PrefetchQueue& prefetch);

inline constexpr Index kPanelRows = 128;

/// The panel after this one, and the one before it; of no rows where there is none.
inline Range following(Range panel, Index rows) {
  return {panel.end, std::min(panel.end + kPanelRows, rows)};
}
inline Range preceding(Range panel) { return {std::max<Index>(0, panel.begin - kPanelRows), panel.begin}; }

inline void add(PrefetchQueue& prefetch, const Panel& coming) {
  for (Index j = 0; j < coming.cols; ++j) prefetch.add(coming.col(j), coming.rows);
}

/// Which panels a task has, by number, and the rows of one.
inline Range task_panels(Index rows, Index task) {
  return piece((rows + kPanelRows - 1) / kPanelRows, row_tasks(rows), task);
}
inline Range panel_rows(Index panel, Index rows) {
  return {panel * kPanelRows, std::min((panel + 1) * kPanelRows, rows)};
}

/// Calls body(rows, task) for every panel, tasks spread over the threads. Panels begin at multiples of their
/// size: a vector of numbers that crosses a cache line takes two loads.
template <class Body>
void sweep(Index rows, Workers& workers, Body&& body) {
  workers.run(row_tasks(rows), [&](Index task) {
    const Range panels = task_panels(rows, task);
    for (Index k = panels.begin; k < panels.end; ++k) body(panel_rows(k, rows), task);
  });
}

/// From the last panel to the first: after a sweep, it begins with what the caches still hold.
template <class Body>
void sweep_back(Index rows, Workers& workers, Body&& body) {
  const Index tasks = row_tasks(rows);
  workers.run(tasks, [&](Index before_last) {
    const Index task = tasks - 1 - before_last;
    const Range panels = task_panels(rows, task);
    for (Index k = panels.end; k-- > panels.begin;) body(panel_rows(k, rows), task);
  });
}

}  // namespace magva
