#include "core/panel.hpp"

#include <algorithm>

#include "core/panel_kernels.hpp"

namespace magva {

Index row_tasks(Index rows) {
  constexpr Index kRowsPerTask = 2048;  // below this a second thread costs more than it gives
  constexpr Index kMaxTasks = 16;
  return std::clamp<Index>(rows / kRowsPerTask, 1, kMaxTasks);
}

void GramSum::start(Index p, Index k) {
  p_ = p;
  k_ = k;
  sums_.head(p * k * tasks_).setZero();
}

void GramSum::add(const Panel& a, const Panel& b, Index task) {
  PrefetchQueue none;
  add(a, b, task, none);
}

void GramSum::add(const Panel& a, const Panel& b, Index task, PrefetchQueue& prefetch) {
  detail::add_gram(a, b, of(task), prefetch);
}

void GramSum::add_symmetric(const Panel& a, const Panel& b, Index task) {
  PrefetchQueue none;
  add_symmetric(a, b, task, none);
}

void GramSum::add_symmetric(const Panel& a, const Panel& b, Index task, PrefetchQueue& prefetch) {
  detail::add_upper_gram(a, b, of(task), prefetch);
}

MatrixRef GramSum::total() {
  Eigen::Map<Matrix> sum(of(0), p_, k_);
  for (Index task = 1; task < tasks_; ++task) sum += Eigen::Map<const Matrix>(of(task), p_, k_);
  return sum;
}

void GramSum::subtract_product(const Panel& x, const MutablePanel& v) const {
  detail::multiply(-1, x, Eigen::Map<const Matrix>(sums_.data(), p_, k_), 1, v);
}

void combine(const MutablePanel& x, ConstMatrixRef left, const Panel& v, ConstMatrixRef right,
             const MutablePanel& scratch, PrefetchQueue& prefetch) {
  if (detail::combines_in_place(x.cols)) return detail::combine(as_const(x), left, v, right, x, prefetch);
  detail::combine(as_const(x), left, v, right, scratch, prefetch);
  for (Index j = 0; j < x.cols; ++j) std::copy_n(scratch.col(j), x.rows, x.col(j));
}

MatrixRef GramSum::symmetric_total() {
  MatrixRef sum = total();
  for (Index j = 0; j < k_; ++j)
    for (Index i = 0; i < j; ++i) sum(j, i) = sum(i, j);
  return sum;
}

}  // namespace magva
