#include "models/design_moments.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/vector.hpp"

namespace magva::detail {

namespace {

constexpr int kRowTile = 4;
constexpr Index kRootColumns = 24;  // of a root that meet the rows at once
/// Tiles of a Gram matrix: vectors of rows, and columns; their sums fill the registers.
constexpr int kGramVectors = 3;
constexpr int kGramColumns = kVecBytes == 64 ? 8 : 4;
/// Narrower designs, whose rows would mostly be what fills up tiles, are left to Eigen.
constexpr Index kTiledColumns = 64;

template <class Scalar>
const Scalar* row_of(const DenseRows<Scalar>& x, Index i) {
  return x.data + i * x.stride;
}

/// The rows as doubles: themselves, or a copy.
Eigen::Map<const RowMatrix, 0, Eigen::OuterStride<>> doubles(const DenseRows<double>& x, RowSpan rows,
                                                             RowMatrix&) {
  return {row_of(x, rows.first), rows.count, x.cols, Eigen::OuterStride<>(x.stride)};
}
template <class Scalar>
Eigen::Map<const RowMatrix, 0, Eigen::OuterStride<>> doubles(const DenseRows<Scalar>& x, RowSpan rows,
                                                             RowMatrix& copy) {
  using Stored = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  copy = Eigen::Map<const Stored, 0, Eigen::OuterStride<>>(row_of(x, rows.first), rows.count, x.cols,
                                                           Eigen::OuterStride<>(x.stride))
             .template cast<double>();
  return {copy.data(), rows.count, x.cols, Eigen::OuterStride<>(x.cols)};
}

template <int R, class Scalar>
void add_squares_tile(const DenseRows<Scalar>& x, Index first, const double* square, double* variance) {
  Vec sums[R] = {};
  Index j = 0;
  for (; j + kLanes<Vec> <= x.cols; j += kLanes<Vec>) {
    const Vec d = load(square + j);
    for (int r = 0; r < R; ++r) {
      const Vec entry = load<Vec>(row_of(x, first + r) + j);
      sums[r] = multiply_add(entry * entry, d, sums[r]);
    }
  }
  for (int r = 0; r < R; ++r) {
    double rest = 0;
    for (Index k = j; k < x.cols; ++k) {
      const auto entry = static_cast<double>(row_of(x, first + r)[k]);
      rest = multiply_add(entry * entry, square[k], rest);
    }
    variance[r] += reduce_sum(sums[r]) + rest;
  }
}

template <int R, class Scalar>
void add_weighted_squares_tile(const DenseRows<Scalar>& x, Index first, const double* weight, double* out) {
  Index j = 0;
  for (; j + kLanes<Vec> <= x.cols; j += kLanes<Vec>) {
    Vec sum = load(out + j);
    for (int r = 0; r < R; ++r) {
      const Vec entry = load<Vec>(row_of(x, first + r) + j);
      sum = multiply_add(entry * weight[r], entry, sum);
    }
    store(out + j, sum);
  }
  for (; j < x.cols; ++j)
    for (int r = 0; r < R; ++r) {
      const auto entry = static_cast<double>(row_of(x, first + r)[j]);
      out[j] = multiply_add(entry * weight[r], entry, out[j]);
    }
}

template <class Scalar>
void add_squares(const DenseRows<Scalar>& x, RowSpan rows, const double* square, double* variance) {
  Index i = 0;
  for (; i + kRowTile <= rows.count; i += kRowTile)
    add_squares_tile<kRowTile>(x, rows.first + i, square, variance + i);
  for (; i < rows.count; ++i) add_squares_tile<1>(x, rows.first + i, square, variance + i);
}

template <class Scalar>
void add_weighted_squares(const DenseRows<Scalar>& x, RowSpan rows, const double* weight, double* out) {
  Index i = 0;
  for (; i + kRowTile <= rows.count; i += kRowTile)
    add_weighted_squares_tile<kRowTile>(x, rows.first + i, weight + i, out);
  for (; i < rows.count; ++i) add_weighted_squares_tile<1>(x, rows.first + i, weight + i, out);
}

/// Rows of these columns of the root before nothing but zeros: all of an upper triangle's last columns, few
/// of its first.
Index used_rows(const RowMatrix& root, Index first, Index columns) {
  Index used = root.rows();
  while (used > 1 && (root.row(used - 1).segment(first, columns).array() == 0).all()) --used;
  return used;
}

template <class Scalar>
void add_variances(const DenseRows<Scalar>& x, RowSpan rows, const RowMatrix& root, double* variance) {
  RowMatrix copy;
  const auto all = doubles(x, rows, copy);
  for (Index j = 0; j < root.cols(); j += kRootColumns) {
    const Index columns = std::min(kRootColumns, root.cols() - j);
    const Index used = used_rows(root, j, columns);
    const RowMatrix product = all.leftCols(used) * root.block(0, j, used, columns);
    Eigen::Map<Vector>(variance, rows.count) += product.rowwise().squaredNorm();
  }
}

/// gram += rows' rows for V vectors of its rows from j on and the columns from k on.
template <int V>
void add_gram_tile(const RowMatrix& rows, Index j, Index k, Matrix& gram) {
  Vec acc[V * kGramColumns];
  unroll<V * kGramColumns>([&](auto i) __attribute__((always_inline)) { acc[i] = Vec{}; });
  const double* row = rows.data();
  for (Index i = 0; i < rows.rows(); ++i, row += rows.cols()) {
    Vec left[V];
    unroll<V>([&](auto v) __attribute__((always_inline)) { left[v] = load(row + j + v * kLanes<Vec>); });
    unroll<kGramColumns>([&](auto c) __attribute__((always_inline)) {
      const Vec right = set(row[k + c]);
      unroll<V>([&](auto v) __attribute__((always_inline)) {
        acc[c * V + v] = multiply_add(left[v], right, acc[c * V + v]);
      });
    });
  }
  unroll<kGramColumns>([&](auto c) __attribute__((always_inline)) {
    if (k + c >= gram.cols()) return;
    unroll<V>([&](auto v) __attribute__((always_inline)) {
      const Index first = j + v * kLanes<Vec>;
      double* to = gram.col(k + c).data() + first;
      const Index count = std::min<Index>(kLanes<Vec>, gram.rows() - first);
      if (count == kLanes<Vec>)
        store(to, load(to) + acc[c * V + v]);
      else if (count > 0)
        masked_store(to, count, masked_load(to, count, 0) + acc[c * V + v]);
    });
  });
}

/// On and below the diagonal; rows are filled up with zeros to whole vectors.
void add_lower_gram(const RowMatrix& rows, Matrix& gram) {
  constexpr Index kHeight = kGramVectors * kLanes<Vec>;
  for (Index k = 0; k < gram.cols(); k += kGramColumns) {
    Index j = k / kLanes<Vec> * kLanes<Vec>;
    for (; j + kHeight <= rows.cols(); j += kHeight) add_gram_tile<kGramVectors>(rows, j, k, gram);
    for (; j < gram.rows(); j += kLanes<Vec>) add_gram_tile<1>(rows, j, k, gram);
  }
}

template <class Scalar>
void add_gram_of_few(const DenseRows<Scalar>& x, RowSpan rows, const double* weight, Matrix& gram) {
  RowMatrix copy;
  const RowMatrix scaled =
      Eigen::Map<const Vector>(weight, rows.count).cwiseSqrt().asDiagonal() * doubles(x, rows, copy);
  gram.selfadjointView<Eigen::Lower>().rankUpdate(scaled.transpose());
}

template <class Scalar>
void add_gram(const DenseRows<Scalar>& x, RowSpan rows, const double* weight, Matrix& gram) {
  if (x.cols < kTiledColumns) return add_gram_of_few(x, rows, weight, gram);
  RowMatrix scaled = RowMatrix::Zero(rows.count, padded(x.cols));
  for (Index i = 0; i < rows.count; ++i) {
    const double root = std::sqrt(weight[i]);
    const Scalar* from = row_of(x, rows.first + i);
    for (Index j = 0; j < x.cols; ++j) scaled(i, j) = root * static_cast<double>(from[j]);
  }
  add_lower_gram(scaled, gram);
}

/// Calls body(i, k) for each entry k of each row first + i.
template <class Body>
void for_each_entry(const SparseRows& x, RowSpan rows, Body&& body) {
  for (Index i = 0; i < rows.count; ++i)
    for (std::int64_t k = x.starts[rows.first + i]; k < x.starts[rows.first + i + 1]; ++k) body(i, k);
}

void add_squares(const SparseRows& x, RowSpan rows, const double* square, double* variance) {
  for_each_entry(x, rows, [&](Index i, std::int64_t k) {
    variance[i] = multiply_add(x.values[k] * x.values[k], square[x.columns[k]], variance[i]);
  });
}

void add_weighted_squares(const SparseRows& x, RowSpan rows, const double* weight, double* out) {
  for_each_entry(x, rows, [&](Index i, std::int64_t k) {
    out[x.columns[k]] = multiply_add(x.values[k] * weight[i], x.values[k], out[x.columns[k]]);
  });
}

void add_variances(const SparseRows& x, RowSpan rows, const RowMatrix& root, double* variance) {
  Vector image(root.cols());
  for (Index i = 0; i < rows.count; ++i) {
    image.setZero();
    for_each_entry(x, {rows.first + i, 1},
                   [&](Index, std::int64_t k) { image += x.values[k] * root.row(x.columns[k]).transpose(); });
    variance[i] += image.squaredNorm();
  }
}

void add_gram(const SparseRows& x, RowSpan rows, const double* weight, Matrix& gram) {
  for_each_entry(x, rows, [&](Index i, std::int64_t k) {
    const double scaled = weight[i] * x.values[k];
    for (std::int64_t l = x.starts[rows.first + i]; l <= k; ++l) {
      const auto [low, high] = std::minmax(x.columns[k], x.columns[l]);
      gram(high, low) = multiply_add(scaled, x.values[l], gram(high, low));
    }
  });
}

}  // namespace

void add_squares(const Design& design, RowSpan rows, const double* square, double* variance) {
  std::visit([&](const auto& x) { add_squares(x, rows, square, variance); }, design.storage());
}
void add_weighted_squares(const Design& design, RowSpan rows, const double* weight, double* out) {
  std::visit([&](const auto& x) { add_weighted_squares(x, rows, weight, out); }, design.storage());
}
void add_variances(const Design& design, RowSpan rows, const RowMatrix& root, double* variance) {
  std::visit([&](const auto& x) { add_variances(x, rows, root, variance); }, design.storage());
}
void add_gram(const Design& design, RowSpan rows, const double* weight, Matrix& gram) {
  std::visit([&](const auto& x) { add_gram(x, rows, weight, gram); }, design.storage());
}

}  // namespace magva::detail
