#include "magva/regression.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <vector>

#include "core/caches.hpp"
#include "core/huge_pages.hpp"
#include "magva/error.hpp"
#include "models/small_integers.hpp"

namespace magva {

namespace {

template <class Dense>
void require_finite(const Dense& matrix) {
  for (Index i = 0; i < matrix.rows(); ++i)
    for (Index j = 0; j < matrix.cols(); ++j)
      if (!std::isfinite(matrix(i, j)))
        throw DataError(fmt::format("the design has the value {} in row {}, column {}; give finite numbers",
                                    matrix(i, j), i + 1, j + 1));
}

// Rows that start on a cache line are read faster from cache; from memory it makes no difference, and large
// designs had better not be copied. What makes a difference there is the size of pages.
constexpr Index kAlignFromBytesPerRow = 512;

template <class Dense>
Dense align_rows(Dense matrix) {
  using Scalar = typename Dense::Scalar;
  constexpr Index kSize = static_cast<Index>(sizeof(Scalar));
  constexpr Index kPerLine = 64 / kSize;
  if (matrix.cols() % kPerLine == 0 || matrix.cols() * kSize < kAlignFromBytesPerRow ||
      matrix.size() * kSize > detail::cache_sizes().last)
    return matrix;
  Dense aligned = Dense::Zero(matrix.rows(), (matrix.cols() + kPerLine - 1) / kPerLine * kPerLine);
  aligned.leftCols(matrix.cols()) = matrix;
  return aligned;
}

void require_sound(const SparseMatrix& matrix) {
  if (matrix.starts.empty() || matrix.starts.front() != 0 || matrix.columns.size() != matrix.values.size() ||
      static_cast<std::size_t>(matrix.starts.back()) != matrix.values.size())
    throw DataError(
        "the sparse design's row starts do not cover its entries; let starts run from 0 to their number");
  for (std::size_t i = 1; i < matrix.starts.size(); ++i)
    if (matrix.starts[i] < matrix.starts[i - 1])
      throw DataError(
          fmt::format("the sparse design's row {} ends before it starts; let starts not decrease", i));
  for (std::size_t k = 0; k < matrix.values.size(); ++k) {
    if (matrix.columns[k] < 0 || matrix.columns[k] >= matrix.cols)
      throw DataError(
          fmt::format("entry {} of the sparse design is in column {} of {}; number columns from 0", k + 1,
                      matrix.columns[k], matrix.cols));
    if (!std::isfinite(matrix.values[k]))
      throw DataError(
          fmt::format("entry {} of the sparse design is {}; give finite numbers", k + 1, matrix.values[k]));
  }
}

}  // namespace

Design Design::view(Rows rows, std::shared_ptr<const void> owner) { return {rows, std::move(owner)}; }

namespace {

using ByteMatrix = Eigen::Matrix<std::int8_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Design own_bytes(ByteMatrix matrix, bool single) {
  const auto kept = std::make_shared<const ByteMatrix>(std::move(matrix));
  if (kept->size() > detail::cache_sizes().last)
    move_to_huge_pages(kept->data(), static_cast<std::size_t>(kept->size()));
  return Design::view(DenseRows<std::int8_t>{kept->data(), kept->rows(), kept->cols(), kept->cols(), single},
                      kept);
}

/// In int8 if that is exact. What the caches hold is read at their speed whatever it is stored as.
template <class Scalar>
std::optional<Design> in_bytes(const DenseRows<Scalar>& x) {
  if (x.rows * x.cols * static_cast<Index>(sizeof(Scalar)) <= detail::cache_sizes().last) return std::nullopt;
  // Most others show it in their first row: memory is taken after that.
  std::vector<std::int8_t> first(static_cast<std::size_t>(x.cols));
  if (!detail::to_small_integers(x.data, x.cols, first.data())) return std::nullopt;
  ByteMatrix bytes(x.rows, x.cols);
  for (Index i = 0; i < x.rows; ++i)
    if (!detail::to_small_integers(x.data + i * x.stride, x.cols, bytes.data() + i * x.cols))
      return std::nullopt;
  return own_bytes(std::move(bytes), x.single);
}
std::optional<Design> in_bytes(const DenseRows<std::int8_t>&) { return std::nullopt; }
std::optional<Design> in_bytes(const SparseRows&) { return std::nullopt; }

template <class Dense>
Design own_dense(Dense matrix) {
  require_finite(matrix);
  const Index cols = matrix.cols();
  using Scalar = typename Dense::Scalar;
  if (auto bytes = in_bytes(DenseRows<Scalar>{matrix.data(), matrix.rows(), cols, cols})) return *bytes;
  const auto kept = std::make_shared<const Dense>(align_rows(std::move(matrix)));
  const Index bytes = kept->size() * static_cast<Index>(sizeof(typename Dense::Scalar));
  if (bytes > detail::cache_sizes().last) move_to_huge_pages(kept->data(), static_cast<std::size_t>(bytes));
  return Design::view(DenseRows<typename Dense::Scalar>{kept->data(), kept->rows(), cols, kept->cols()},
                      kept);
}
}  // namespace

Design Design::own(RowMatrix matrix) { return own_dense(std::move(matrix)); }
Design Design::own(SingleRowMatrix matrix) { return own_dense(std::move(matrix)); }

Design Design::own(SparseMatrix matrix) {
  require_sound(matrix);
  const auto kept = std::make_shared<const SparseMatrix>(std::move(matrix));
  return view(SparseRows{kept->starts.data(), kept->columns.data(), kept->values.data(),
                         static_cast<Index>(kept->starts.size()) - 1, kept->cols},
              kept);
}

Design Design::compact() const {
  auto bytes = std::visit([](const auto& x) { return in_bytes(x); }, rows_);
  return bytes ? *bytes : *this;
}

Index Design::rows() const {
  return std::visit([](const auto& x) { return x.rows; }, rows_);
}

Index Design::cols() const {
  return std::visit([](const auto& x) { return x.cols; }, rows_);
}

Index Design::bytes() const {
  const auto each = std::visit(
      [](const auto& x) {
        if constexpr (requires { x.data; })
          return sizeof(*x.data);
        else
          return sizeof(double);
      },
      rows_);
  return entries() * static_cast<Index>(each);
}

Index Design::entries() const {
  if (const auto* x = std::get_if<SparseRows>(&rows_))
    return x->rows == 0 ? 0 : x->starts[x->rows] - x->starts[0];
  return rows() * cols();
}

}  // namespace magva
