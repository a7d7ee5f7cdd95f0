#include "source/shared_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/caches.hpp"
#include "core/huge_pages.hpp"
#include "core/lazy_memory.hpp"
#include "magva/distribute.hpp"
#include "magva/error.hpp"
#include "models/small_integers.hpp"
#include "source/regression_source.hpp"

namespace magva::source {

namespace {

using table::TableRanks;

constexpr Index kPieceBytes = Index{1} << 22U;

/// Up to so many values the sds of an exact fit are found row by row, and up to so many rows are checked,
/// unless they would take a gigabyte.
bool leader_keeps_all(Index rows, Index columns) {
  constexpr Index kFewValues = Index{1} << 24U;
  constexpr Index kMostValues = Index{1} << 27U;
  return rows * columns <= kFewValues || (rows <= kMostRowsChecked && rows * columns <= kMostValues);
}

Range overlap(Range a, Range b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

/// Calls use(some) with pieces of a range of rows.
template <class Use>
void for_each_range(Range rows, Index most, const Use& use) {
  for (Index begin = rows.begin; begin < rows.end; begin += most)
    use(Range{begin, std::min(rows.end, begin + most)});
}

/// Rows of all ranks, of which some are kept.
template <class Scalar>
class KeptRows {
 public:
  KeptRows(Index rows, Index columns)
      : rows_(rows),
        columns_(columns),
        memory_(lazy_memory(static_cast<std::size_t>(rows * columns) * sizeof(Scalar))) {}

  Scalar* row(Index i) { return reinterpret_cast<Scalar*>(memory_.get()) + i * columns_; }
  /// Rows `from` .. of a matrix whose first is row `first` of all.
  void copy(Range rows, const Scalar* from, Index first) {
    if (rows.size() > 0)
      std::copy_n(from + (rows.begin - first) * columns_, rows.size() * columns_, row(rows.begin));
  }
  Design design(Range kept, bool single) {
    const Index bytes = kept.size() * columns_ * static_cast<Index>(sizeof(Scalar));
    if (bytes > detail::cache_sizes().last)
      move_to_huge_pages(row(kept.begin), static_cast<std::size_t>(bytes));
    return Design::view(DenseRows<Scalar>{row(0), rows_, columns_, columns_, single}, memory_);
  }

 private:
  Index rows_, columns_;
  std::shared_ptr<char> memory_;
};

template <class Dense>
void require_finite(const Dense& own, Index first) {
  for (Index i = 0; i < own.rows(); ++i)
    for (Index j = 0; j < own.cols(); ++j)
      if (!std::isfinite(own(i, j)))
        throw DataError(fmt::format("the design has the value {} in row {}, column {}; give finite numbers",
                                    own(i, j), first + i + 1, j + 1));
}

/// What a rank sends to the others of the rows that it has.
std::vector<Range> sent_rows(int rank, Range has, Range share, bool leader_has_all) {
  if (leader_has_all && rank != 0) return {has};
  return {{has.begin, std::min(has.end, share.begin)}, {std::max(has.begin, share.end), has.end}};
}

template <class Dense>
void exchange(const Dense& own, const std::vector<Index>& starts, Range kept, bool leader_has_all,
              const TableRanks& ranks, KeptRows<typename Dense::Scalar>& to) {
  const Index columns = own.cols();
  const Index row_bytes = columns * static_cast<Index>(sizeof(typename Dense::Scalar));
  const Index most = std::max<Index>(1, kPieceBytes / row_bytes);
  const Index first = starts[static_cast<std::size_t>(ranks.rank())];
  to.copy(overlap({first, first + own.rows()}, kept), own.data(), first);
  std::vector<typename Dense::Scalar> piece;
  for (int root = 0; root < ranks.size(); ++root) {
    const auto at = static_cast<std::size_t>(root);
    const Range share = rows_of_rank(starts.back(), root, ranks.size());
    for (const Range rows : sent_rows(root, {starts[at], starts[at + 1]}, share, leader_has_all))
      for_each_range(rows, most, [&](Range some) {
        piece.resize(static_cast<std::size_t>(some.size() * columns));
        if (root == ranks.rank())
          std::copy_n(own.data() + (some.begin - first) * columns, some.size() * columns, piece.data());
        ranks.broadcast(root, piece.data(), piece.size() * sizeof(typename Dense::Scalar));
        if (root != ranks.rank()) to.copy(overlap(some, kept), piece.data(), some.begin);
      });
  }
}

/// In int8 if all ranks' values are such and one process would keep them so.
template <class Scalar>
Design in_least_memory(KeptRows<Scalar> all, Index rows, Index columns, Range kept, const TableRanks& ranks) {
  constexpr bool kSingle = sizeof(Scalar) == 4;
  const bool large = rows * columns * static_cast<Index>(sizeof(Scalar)) > detail::cache_sizes().last;
  KeptRows<std::int8_t> bytes(rows, columns);
  bool exact = large;
  for (Index i = kept.begin; i < kept.end && exact; ++i)
    exact = detail::to_small_integers(all.row(i), columns, bytes.row(i));
  return ranks.all(exact) ? bytes.design(kept, kSingle) : all.design(kept, kSingle);
}

template <class Dense>
SharedDesign share(Dense own, const TableRanks& ranks) {
  if (ranks.alone()) {
    const Index rows = own.rows();
    return {Design::own(std::move(own)), {0, rows}, true};
  }
  const std::vector<Index> starts = ranks.row_starts(own.rows());
  ranks.together([&] { require_finite(own, starts[static_cast<std::size_t>(ranks.rank())]); });
  const Index rows = starts.back(), columns = own.cols();
  const Range share = rows_of_rank(rows, ranks.rank(), ranks.size());
  const bool leader_has_all = leader_keeps_all(rows, columns);
  const bool has_all = leader_has_all && ranks.leads();
  const Range kept = has_all ? Range{0, rows} : share;
  KeptRows<typename Dense::Scalar> all(rows, columns);
  exchange(own, starts, kept, leader_has_all, ranks, all);
  own.resize(0, 0);
  return {in_least_memory(std::move(all), rows, columns, kept, ranks), share, has_all};
}

Design some_rows(const Design& design, Range rows) {
  return std::visit(
      [&](auto x) -> Design {
        if constexpr (requires { x.data; }) {
          x.data += rows.begin * x.stride;
          x.rows = rows.size();
          return Design::view(x, std::make_shared<const Design>(design));
        } else {
          throw std::logic_error("the rows of a sparse design are not shared");
        }
      },
      design.storage());
}

}  // namespace

SharedDesign share_design(RowMatrix own, const TableRanks& ranks) { return share(std::move(own), ranks); }
SharedDesign share_design(SingleRowMatrix own, const TableRanks& ranks) {
  return share(std::move(own), ranks);
}

DesignMoments design_moments(const SharedDesign& shared, const TableRanks& ranks) {
  if (ranks.alone()) return design_moments(shared.design);
  MomentSums sums;
  ranks.in_turn(sums, [&] { sums.add(some_rows(shared.design, shared.share)); });
  return sums.finish();
}

void for_each_piece(const table::EncodedRows& own, const TableRanks& ranks,
                    const std::function<void(const table::EncodedRows&)>& use) {
  if (ranks.alone()) return use(own);
  const std::vector<Index> starts = ranks.row_starts(own.size());
  const Index columns = static_cast<Index>(own.names.size());
  const Index most = std::max<Index>(1, kPieceBytes / (columns * static_cast<Index>(sizeof(double))));
  const bool weighted = !ranks.all(own.weights.size() == 0);
  for (int root = 0; root < ranks.size(); ++root) {
    const auto at = static_cast<std::size_t>(root);
    for_each_range({0, starts[at + 1] - starts[at]}, most, [&](Range some) {
      table::EncodedRows piece;
      piece.names = own.names;
      piece.rows.resize(static_cast<std::size_t>(some.size()));
      piece.x.resize(some.size(), columns);
      piece.y.resize(some.size());
      piece.weights.resize(weighted ? some.size() : 0);
      if (root == ranks.rank()) {
        piece.x = own.x.middleRows(some.begin, some.size());
        piece.y = own.y.segment(some.begin, some.size());
        if (weighted) piece.weights = own.weights.segment(some.begin, some.size());
      }
      const auto send = [&](double* values, Index count) {
        ranks.broadcast(root, values, static_cast<std::size_t>(count) * sizeof(double));
      };
      send(piece.x.data(), piece.x.size());
      send(piece.y.data(), piece.y.size());
      send(piece.weights.data(), piece.weights.size());
      ranks.together([&] { use(piece); });
    });
  }
}

}  // namespace magva::source
