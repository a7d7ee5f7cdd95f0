#include "formula/design_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "formula/encode.hpp"
#include "table/duplicate_columns.hpp"

namespace magva::formula {

namespace {

/// The fixed columns of the design, some rows at a time.
template <class Visit>
void for_each_design_block(const table::Table& table, std::span<const Index> rows, const FormulaSpec& spec,
                           Visit&& visit) {
  const ColumnLayout layout(spec.variables, spec.fixed);
  RowEncoder encoder(spec.variables, table);
  for_each_block(rows, [&](std::span<const Index> some) {
    encoder.load(some);
    RowMatrix block = RowMatrix::Zero(static_cast<Index>(some.size()), layout.kept);
    for (Index i = 0; i < block.rows(); ++i) encoder.fill(spec.fixed, layout, i, &block(i, 0));
    visit(block);
  });
}

}  // namespace

namespace {

/// What the rows so far say about the columns.
struct SeenColumns {
  std::vector<double> lowest, highest;
  table::ColumnHashes hashes;

  template <class Archive>
  void transfer(Archive& archive) {
    archive(lowest, highest, hashes);
  }
};

}  // namespace

void leave_out_columns(const table::Table& table, std::span<const Index> rows, const table::TableRanks& ranks,
                       FormulaSpec& spec, std::vector<std::string>& notes) {
  const ColumnLayout layout(spec.variables, spec.fixed);
  const std::vector<std::string> names = all_names(spec.variables, spec.fixed);
  const auto p = static_cast<std::size_t>(layout.all);
  if (p == 0) return;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  SeenColumns seen{std::vector<double>(p, kInfinity), std::vector<double>(p, -kInfinity), {}};
  ranks.in_turn(seen, [&] {
    for_each_design_block(table, rows, spec, [&](const RowMatrix& block) {
      seen.hashes.add(block);
      for (std::size_t j = 0; j < p; ++j) {
        seen.lowest[j] = std::min(seen.lowest[j], block.col(static_cast<Index>(j)).minCoeff());
        seen.highest[j] = std::max(seen.highest[j], block.col(static_cast<Index>(j)).maxCoeff());
      }
    });
  });
  const auto& lowest = seen.lowest;
  std::set<Index> left_out;
  for (std::size_t j = spec.fixed.intercept ? 1 : 0; j < p; ++j)
    if (lowest[j] == seen.highest[j] && (spec.fixed.intercept || lowest[j] == 0)) {
      left_out.insert(static_cast<Index>(j));
      spec.dropped.push_back({names[j], lowest[j] == 0 ? "zero in every row" : "constant"});
    }
  const auto equal = [&](Index a, Index b) {
    bool all = true;
    for_each_design_block(table, rows, spec,
                          [&](const RowMatrix& block) { all = all && block.col(a) == block.col(b); });
    return ranks.all(all);
  };
  for (const table::Duplicate& duplicate : seen.hashes.duplicates(equal))
    if (left_out.insert(duplicate.column).second)
      spec.dropped.push_back(
          {names[static_cast<std::size_t>(duplicate.column)],
           fmt::format("equals '{}'", names[static_cast<std::size_t>(duplicate.same_as)])});
  spec.fixed.left_out.assign(left_out.begin(), left_out.end());
  for (const table::DroppedColumn& column : spec.dropped)
    notes.push_back(
        fmt::format("the column '{}' of the design was left out: {}", column.name, column.reason));
}

namespace {

/// Row after row, so that the sums of several ranks are those of one.
ColumnMoments moments_of(const RowMatrix& own, const table::TableRanks& ranks) {
  const auto n = static_cast<double>(ranks.row_starts(own.rows()).back());
  Vector sums = Vector::Zero(own.cols());
  ranks.in_turn(sums, [&] {
    for (Index i = 0; i < own.rows(); ++i) sums += own.row(i).transpose();
  });
  ColumnMoments moments{sums / n, Vector::Zero(own.cols())};
  ranks.in_turn(moments.sd, [&] {
    for (Index i = 0; i < own.rows(); ++i)
      moments.sd.array() += (own.row(i).transpose() - moments.mean).array().square();
  });
  moments.sd = (moments.sd / std::max(1.0, n - 1)).cwiseSqrt();
  return moments;
}

}  // namespace

void centre_design(const LearnOptions& options, const table::TableRanks& ranks, LearntFormula& learnt) {
  RowMatrix& x = learnt.rows.x;
  FormulaSpec& spec = learnt.spec;
  const auto fixed = static_cast<Index>(spec.names().size());
  const Index first = spec.fixed.intercept ? 1 : 0;
  const ColumnMoments moments = moments_of(x, ranks);
  learnt.moments = moments;
  spec.centre = Vector::Zero(x.cols());
  spec.scale = Vector::Ones(x.cols());
  if (options.centre && first == 1) spec.centre.segment(1, fixed - 1) = moments.mean.segment(1, fixed - 1);
  for (Index j = first; j < fixed && options.standardise; ++j)
    if (moments.sd(j) > 0) spec.scale(j) = moments.sd(j);
  for (Index i = 0; i < x.rows(); ++i)
    x.row(i) = ((x.row(i) - spec.centre.transpose()).array() / spec.scale.transpose().array()).matrix();
}

}  // namespace magva::formula
