#include "magva/tall_skinny.hpp"

#include <algorithm>

namespace magva {

namespace {
constexpr Index kBlockRows = 64;      // 64 x 10 doubles of A and of the result stay in the first-level cache
constexpr Index kRowsPerTask = 8192;  // below this a second thread costs more than it gives
constexpr Index kMaxTasks = 16;
}  // namespace

TallSkinny::TallSkinny(Index rows, Index cols, Workers& workers)
    : workers_(workers),
      max_cols_(cols),
      partial_(cols, cols * task_count(rows)),
      block_(kBlockRows * task_count(rows), cols),
      small_(cols, cols),
      gram_(cols, cols),
      root_(cols, cols),
      eigen_scratch_(cols, cols),
      eigen_(cols) {}

Index TallSkinny::task_count(Index rows) { return std::clamp<Index>(rows / kRowsPerTask, 1, kMaxTasks); }

void TallSkinny::gram(ConstMatrixRef a, ConstMatrixRef b, MatrixRef out) {
  const Index p = a.cols();
  const Index k = b.cols();
  const Index tasks = task_count(a.rows());
  workers_.run(tasks, [&](Index task) {
    auto sum = partial_.block(0, max_cols_ * task, p, k);
    sum.setZero();
    const Range rows = piece(a.rows(), tasks, task);
    for (Index r = rows.begin; r < rows.end; r += kBlockRows) {
      const Index n = std::min(kBlockRows, rows.end - r);
      for (Index j = 0; j < k; ++j)
        for (Index i = 0; i < p; ++i) sum(i, j) += a.col(i).segment(r, n).dot(b.col(j).segment(r, n));
    }
  });
  out = partial_.block(0, 0, p, k);
  for (Index task = 1; task < tasks; ++task) out += partial_.block(0, max_cols_ * task, p, k);
}

void TallSkinny::weighted_gram(ConstMatrixRef a, ConstVectorRef w, MatrixRef out) {
  const Index p = a.cols();
  const Index tasks = task_count(a.rows());
  workers_.run(tasks, [&](Index task) {
    auto sum = partial_.block(0, max_cols_ * task, p, p);
    sum.setZero();
    const Range rows = piece(a.rows(), tasks, task);
    for (Index r = rows.begin; r < rows.end; r += kBlockRows) {
      const Index n = std::min(kBlockRows, rows.end - r);
      auto scaled = block_.col(0).segment(kBlockRows * task, n);
      for (Index j = 0; j < p; ++j) {
        scaled = a.col(j).segment(r, n).cwiseProduct(w.segment(r, n));
        for (Index i = 0; i <= j; ++i) sum(i, j) += a.col(i).segment(r, n).dot(scaled);
      }
    }
  });
  out = partial_.block(0, 0, p, p);
  for (Index task = 1; task < tasks; ++task) out += partial_.block(0, max_cols_ * task, p, p);
  out.triangularView<Eigen::StrictlyLower>() = out.transpose();
}

void TallSkinny::multiply(double alpha, ConstMatrixRef a, ConstMatrixRef small, double beta, MatrixRef out) {
  const Index k = small.cols();
  const Index tasks = task_count(a.rows());
  workers_.run(tasks, [&](Index task) {
    const Range rows = piece(a.rows(), tasks, task);
    for (Index r = rows.begin; r < rows.end; r += kBlockRows) {
      const Index n = std::min(kBlockRows, rows.end - r);
      auto block = block_.block(kBlockRows * task, 0, n, k);
      block.noalias() = a.middleRows(r, n).lazyProduct(small);
      auto target = out.middleRows(r, n);
      if (beta == 0)
        target = alpha * block;
      else
        target = alpha * block + beta * target;
    }
  });
}

const SymmetricEigen& TallSkinny::eigen(ConstMatrixRef symmetric) {
  eigen_.compute(symmetric);
  return eigen_;
}

bool TallSkinny::inverse_root(ConstMatrixRef gram, MatrixRef out) {
  const Index p = gram.rows();
  auto scaled = eigen_scratch_.topLeftCorner(p, p);
  if (inverse_root_near_identity(gram, out, scaled, small(p))) return false;
  const SymmetricEigen& solved = eigen(gram);
  scaled =
      solved.vectors() *
      solved.values().cwiseMax(std::numeric_limits<double>::min()).cwiseSqrt().cwiseInverse().asDiagonal();
  out.noalias() = scaled.lazyProduct(solved.vectors().transpose());
  constexpr double kLossy = 1e4;
  return solved.values()(p - 1) > kLossy * solved.values()(0);
}

void TallSkinny::polar(ConstMatrixRef a, MatrixRef out) {
  const Index p = a.cols();
  if (p == 0) return;
  auto g = gram_.topLeftCorner(p, p);
  auto root = root_.topLeftCorner(p, p);
  // Huge steps must not overflow the Gram matrix; the polar factor does not depend on the scale.
  const double largest = a.cwiseAbs().maxCoeff();
  const double scale = largest > 1e100 ? 1 / largest : 1;
  if (out.data() != a.data() || scale != 1) out = scale * a;
  // The Gram matrix squares the condition number: where that has cost digits, another pass restores them.
  constexpr int kMaxPasses = 4;
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    gram(out, out, g);
    const bool lossy = inverse_root(g, root);
    multiply(1, out, root, 0, out);
    if (!lossy) return;
  }
}

}  // namespace magva
