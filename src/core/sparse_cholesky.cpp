#include "core/sparse_cholesky.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <cstring>

namespace magva {

namespace {

using Block = Eigen::Map<Matrix>;
using ConstBlock = Eigen::Map<const Matrix>;

// With fewer columns a front is eliminated column by column: blocked products would cost more than they save.
constexpr Index kNarrowFront = 8;

std::int64_t square(std::int64_t n) { return n * n; }

// [L11; L21] from the columns of a front, and the rest less L21 L21', all in their lower triangles.
bool eliminate_columns(Block columns, Block rest) {
  const Index width = columns.cols(), height = columns.rows();
  for (Index j = 0; j < width; ++j) {
    const double pivot = columns(j, j);
    if (!(pivot > 0) || !std::isfinite(pivot)) return false;
    columns.col(j).tail(height - j) /= std::sqrt(pivot);
    for (Index k = j + 1; k < width; ++k)
      columns.col(k).tail(height - k) -= columns(k, j) * columns.col(j).tail(height - k);
    for (Index k = width; k < height; ++k)
      rest.col(k - width).tail(height - k) -= columns(k, j) * columns.col(j).tail(height - k);
  }
  return true;
}

bool eliminate_blocked(Block columns, Block rest) {
  const Index width = columns.cols();
  Eigen::Ref<Matrix> pivot = columns.topRows(width);
  const Eigen::LLT<Eigen::Ref<Matrix>> cholesky(pivot);
  if (cholesky.info() != Eigen::Success || !std::isfinite(columns(width - 1, width - 1))) return false;
  if (rest.rows() == 0) return true;
  auto lower = columns.bottomRows(rest.rows());
  columns.topRows(width).triangularView<Eigen::Lower>().transpose().solveInPlace<Eigen::OnTheRight>(lower);
  rest.selfadjointView<Eigen::Lower>().rankUpdate(lower, -1.0);
  return true;
}

// Z21 = -Z22 W and Z11 = (L11 L11')^-1 - W' Z21 with W = L21 L11^-1 (Takahashi's equations for a front).
void invert_front(ConstBlock factor, ConstBlock rest, Block w, Block inverse) {
  const Index width = factor.cols(), below = factor.rows() - width;
  const auto pivot = factor.topRows(width).triangularView<Eigen::Lower>();
  auto corner = inverse.topRows(width);
  corner.setIdentity();
  pivot.solveInPlace(corner);
  pivot.transpose().solveInPlace(corner);
  if (below == 0) return;
  w = factor.bottomRows(below);
  pivot.solveInPlace<Eigen::OnTheRight>(w);
  inverse.bottomRows(below).noalias() = -rest * w;
  corner.noalias() -= w.transpose() * inverse.bottomRows(below);
}

}  // namespace

SparseCholesky::SparseCholesky(const BlockPattern& pattern) {
  const FrontTree tree = make_front_tree(pattern);
  first_.resize(pattern.sizes.size());
  std::int32_t scalar = 0;
  for (const std::int32_t block : tree.order) {
    first_[static_cast<std::size_t>(block)] = scalar;
    scalar += static_cast<std::int32_t>(pattern.sizes[static_cast<std::size_t>(block)]);
  }
  size_ = scalar;
  lay_out_fronts(pattern, tree);
  place_blocks(pattern, tree);
  size_stacks();
}

void SparseCholesky::lay_out_fronts(const BlockPattern& pattern, const FrontTree& tree) {
  const auto add_rows = [&](std::int32_t position) {
    const auto block = static_cast<std::size_t>(tree.order[static_cast<std::size_t>(position)]);
    for (Index i = 0; i < pattern.sizes[block]; ++i)
      rows_.push_back(first_[block] + static_cast<std::int32_t>(i));
  };
  for (const FrontNode& node : tree.fronts) {
    Front front{};
    front.offset = storage_;
    front.rows_at = static_cast<std::int64_t>(rows_.size());
    front.parent = node.parent;
    front.leaf = true;
    for (std::int32_t k = 0; k < node.blocks; ++k) add_rows(node.first + k);
    front.columns = static_cast<std::int32_t>(static_cast<std::int64_t>(rows_.size()) - front.rows_at);
    for (const std::int32_t position : node.below) add_rows(position);
    front.rows = static_cast<std::int32_t>(static_cast<std::int64_t>(rows_.size()) - front.rows_at);
    front.first = rows_[static_cast<std::size_t>(front.rows_at)];
    storage_ += static_cast<Index>(front.rows) * front.columns;
    work_ += static_cast<double>(front.columns) * front.rows * front.rows;
    fronts_.push_back(front);
  }
  parent_row_.resize(rows_.size());
  for (const Front& front : fronts_) {
    if (front.parent < 0) continue;
    Front& parent = fronts_[static_cast<std::size_t>(front.parent)];
    parent.leaf = false;
    std::int64_t at = parent.rows_at;
    for (std::int64_t i = front.rows_at + front.columns; i < front.rows_at + front.rows; ++i) {
      while (rows_[static_cast<std::size_t>(at)] != rows_[static_cast<std::size_t>(i)]) ++at;
      parent_row_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(at - parent.rows_at);
    }
  }
}

void SparseCholesky::place_blocks(const BlockPattern& pattern, const FrontTree& tree) {
  std::vector<std::int32_t> front_of(tree.order.size());
  for (std::size_t s = 0; s < tree.fronts.size(); ++s)
    for (std::int32_t k = 0; k < tree.fronts[s].blocks; ++k)
      front_of[static_cast<std::size_t>(tree.fronts[s].first + k)] = static_cast<std::int32_t>(s);
  const auto place = [&](std::int32_t row, std::int32_t column) {
    const std::int32_t from = tree.position[static_cast<std::size_t>(row)],
                       to = tree.position[static_cast<std::size_t>(column)];
    const bool transposed = from < to;
    const std::int32_t early = first_[static_cast<std::size_t>(transposed ? row : column)],
                       late = first_[static_cast<std::size_t>(transposed ? column : row)];
    const Front& front =
        fronts_[static_cast<std::size_t>(front_of[static_cast<std::size_t>(std::min(from, to))])];
    const auto begin = rows_.begin() + front.rows_at;
    const std::int64_t at = std::lower_bound(begin, begin + front.rows, late) - begin;
    return BlockPlace{front.offset + static_cast<std::int64_t>(early - front.first) * front.rows + at,
                      front.rows, transposed};
  };
  for (std::size_t b = 0; b < pattern.sizes.size(); ++b)
    diagonal_.push_back(place(static_cast<std::int32_t>(b), static_cast<std::int32_t>(b)));
  for (const auto& [row, column] : pattern.below) below_.push_back(place(row, column));
}

// Follows the two passes over the fronts, and what they keep on the stack meanwhile.
void SparseCholesky::size_stacks() {
  std::vector<std::int64_t> offset(fronts_.size(), -1);
  std::int64_t top = 0;
  for (std::size_t s = 0; s < fronts_.size(); ++s) {
    const Front& front = fronts_[s];
    if (front.leaf) {
      offset[s] = top;
      top += square(front.below());
      factor_stack_ = std::max(factor_stack_, top);
    }
    top = offset[s];
    if (front.parent < 0) continue;
    const Front& parent = fronts_[static_cast<std::size_t>(front.parent)];
    std::int64_t& reserved = offset[static_cast<std::size_t>(front.parent)];
    if (reserved >= 0) continue;
    factor_stack_ = std::max(factor_stack_, top + square(front.below()) + square(parent.below()));
    reserved = top;
    top += square(parent.below());
  }
  for (std::size_t s = fronts_.size(); s-- > 0;) {
    const Front& front = fronts_[s];
    const auto parent = static_cast<std::size_t>(std::max(0, front.parent));
    offset[s] = front.parent < 0 ? 0 : offset[parent] + square(fronts_[parent].below());
    inverse_stack_ = std::max(inverse_stack_, offset[s] + square(front.below()) +
                                                  static_cast<std::int64_t>(front.below()) * front.columns);
  }
}

FrontStack SparseCholesky::make_stack() const {
  return {AlignedNumbers(static_cast<std::size_t>(std::max(factor_stack_, inverse_stack_))),
          std::vector<std::int64_t>(fronts_.size())};
}

void SparseCholesky::add_to_parent(const Front& front, const double* update, double* parent_columns,
                                   double* parent_rest) const {
  const Front& parent = fronts_[static_cast<std::size_t>(front.parent)];
  const std::int32_t* row = parent_row_.data() + front.rows_at + front.columns;
  const std::int32_t below = front.below(), parent_below = parent.below();
  for (std::int32_t j = 0; j < below; ++j) {
    const double* from = update + static_cast<std::int64_t>(j) * below;
    double* to = row[j] < parent.columns
                     ? parent_columns + static_cast<std::int64_t>(row[j]) * parent.rows
                     : parent_rest + static_cast<std::int64_t>(row[j] - parent.columns) * parent_below -
                           parent.columns;
    for (std::int32_t i = j; i < below; ++i) to[row[i]] += from[i];
  }
}

void SparseCholesky::take_from_parent(const Front& front, const double* parent_columns,
                                      const double* parent_rest, double* out) const {
  const Front& parent = fronts_[static_cast<std::size_t>(front.parent)];
  const std::int32_t* row = parent_row_.data() + front.rows_at + front.columns;
  const std::int32_t below = front.below(), parent_below = parent.below();
  for (std::int32_t j = 0; j < below; ++j) {
    const double* from = row[j] < parent.columns
                             ? parent_columns + static_cast<std::int64_t>(row[j]) * parent.rows
                             : parent_rest +
                                   static_cast<std::int64_t>(row[j] - parent.columns) * parent_below -
                                   parent.columns;
    for (std::int32_t i = j; i < below; ++i) {
      const double value = from[row[i]];
      out[static_cast<std::int64_t>(j) * below + i] = value;
      out[static_cast<std::int64_t>(i) * below + j] = value;
    }
  }
}

bool SparseCholesky::factorise(AlignedNumbers& values, FrontStack& stack) const {
  std::fill(stack.offset.begin(), stack.offset.end(), -1);
  std::int64_t top = 0;
  double* const base = stack.values.data();
  for (std::size_t s = 0; s < fronts_.size(); ++s) {
    const Front& front = fronts_[s];
    if (front.leaf) {
      stack.offset[s] = top;
      std::fill_n(base + top, square(front.below()), 0.0);
    }
    double* const rest = base + stack.offset[s];
    Block columns(values.data() + front.offset, front.rows, front.columns);
    Block update(rest, front.below(), front.below());
    if (!(front.columns < kNarrowFront ? eliminate_columns(columns, update)
                                       : eliminate_blocked(columns, update)))
      return false;
    top = stack.offset[s];
    if (front.parent < 0) continue;
    const Front& parent = fronts_[static_cast<std::size_t>(front.parent)];
    double* const parent_columns = values.data() + parent.offset;
    std::int64_t& reserved = stack.offset[static_cast<std::size_t>(front.parent)];
    if (reserved >= 0) {
      add_to_parent(front, rest, parent_columns, base + reserved);
      continue;
    }
    double* const beyond = rest + square(front.below());
    std::fill_n(beyond, square(parent.below()), 0.0);
    add_to_parent(front, rest, parent_columns, beyond);
    std::memmove(rest, beyond, sizeof(double) * static_cast<std::size_t>(square(parent.below())));
    reserved = top;
    top += square(parent.below());
  }
  return true;
}

double SparseCholesky::log_determinant(const AlignedNumbers& factor) const {
  double sum = 0;
  for (const Front& front : fronts_)
    for (std::int32_t j = 0; j < front.columns; ++j)
      sum += std::log(
          factor[static_cast<std::size_t>(front.offset + static_cast<std::int64_t>(j) * front.rows + j)]);
  return 2 * sum;
}

void SparseCholesky::solve_lower(const AlignedNumbers& factor, VectorRef b) const {
  for (const Front& front : fronts_) {
    const ConstBlock columns(factor.data() + front.offset, front.rows, front.columns);
    auto own = b.segment(front.first, front.columns);
    columns.topRows(front.columns).triangularView<Eigen::Lower>().solveInPlace(own);
    const std::int32_t* row = rows_.data() + front.rows_at;
    for (std::int32_t j = 0; j < front.columns; ++j)
      for (std::int32_t i = front.columns; i < front.rows; ++i) b(row[i]) -= columns(i, j) * own(j);
  }
}

void SparseCholesky::solve_upper(const AlignedNumbers& factor, VectorRef b) const {
  for (std::size_t s = fronts_.size(); s-- > 0;) {
    const Front& front = fronts_[s];
    const ConstBlock columns(factor.data() + front.offset, front.rows, front.columns);
    auto own = b.segment(front.first, front.columns);
    const std::int32_t* row = rows_.data() + front.rows_at;
    for (std::int32_t j = 0; j < front.columns; ++j) {
      double sum = 0;
      for (std::int32_t i = front.columns; i < front.rows; ++i) sum += columns(i, j) * b(row[i]);
      own(j) -= sum;
    }
    columns.topRows(front.columns).triangularView<Eigen::Lower>().transpose().solveInPlace(own);
  }
}

void SparseCholesky::invert(const AlignedNumbers& factor, AlignedNumbers& inverse, FrontStack& stack) const {
  double* const base = stack.values.data();
  for (std::size_t s = fronts_.size(); s-- > 0;) {
    const Front& front = fronts_[s];
    stack.offset[s] = 0;
    if (front.parent >= 0) {
      const Front& parent = fronts_[static_cast<std::size_t>(front.parent)];
      const std::int64_t above = stack.offset[static_cast<std::size_t>(front.parent)];
      stack.offset[s] = above + square(parent.below());
      take_from_parent(front, inverse.data() + parent.offset, base + above, base + stack.offset[s]);
    }
    double* const rest = base + stack.offset[s];
    invert_front(ConstBlock(factor.data() + front.offset, front.rows, front.columns),
                 ConstBlock(rest, front.below(), front.below()),
                 Block(rest + square(front.below()), front.below(), front.columns),
                 Block(inverse.data() + front.offset, front.rows, front.columns));
  }
}

}  // namespace magva
