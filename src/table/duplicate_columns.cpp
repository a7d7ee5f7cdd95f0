#include "table/duplicate_columns.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>

#include "table/message.hpp"

namespace magva::table {

namespace {

using Hash = std::uint64_t;

/// Order matters, and both zeros are the same value.
Hash mix(Hash hash, Hash position, double value) {
  hash ^= std::bit_cast<Hash>(value + 0.0) + position * 0x9E3779B97F4A7C15ULL;
  hash *= 0xFF51AFD7ED558CCDULL;
  return hash ^ hash >> 32U;
}

std::vector<Hash> column_hashes(const SparseRowMatrix& x) {
  std::vector<Hash> hashes(static_cast<std::size_t>(x.cols()), 1);
  for (Index row = 0; row < x.rows(); ++row)
    for (SparseRowMatrix::InnerIterator cell(x, row); cell; ++cell) {
      Hash& hash = hashes[static_cast<std::size_t>(cell.col())];
      hash = mix(hash, static_cast<Hash>(row), cell.value());
    }
  return hashes;
}

bool equal_columns(const SparseRowMatrix& x, Index a, Index b) {
  for (Index row = 0; row < x.rows(); ++row)
    if (x.coeff(row, a) != x.coeff(row, b)) return false;
  return true;
}

std::vector<Duplicate> find_duplicates(const std::vector<Hash>& hashes, const EqualColumns& equal) {
  std::unordered_multimap<Hash, Index> first_columns;
  std::vector<Duplicate> found;
  for (Index column = 0; column < static_cast<Index>(hashes.size()); ++column) {
    const Hash hash = hashes[static_cast<std::size_t>(column)];
    const auto [begin, end] = first_columns.equal_range(hash);
    auto same = begin;
    while (same != end && !equal(same->second, column)) ++same;
    if (same != end) {
      found.push_back({column, same->second});
    } else {
      first_columns.emplace(hash, column);
    }
  }
  return found;
}

}  // namespace

void ColumnHashes::add(const RowMatrix& part) {
  hashes_.resize(static_cast<std::size_t>(part.cols()), 1);
  for (Index row = 0; row < part.rows(); ++row, ++rows_)
    for (Index column = 0; column < part.cols(); ++column) {
      Hash& hash = hashes_[static_cast<std::size_t>(column)];
      hash = mix(hash, static_cast<Hash>(rows_), part(row, column));
    }
}

std::vector<Duplicate> ColumnHashes::duplicates(const EqualColumns& equal) const {
  return find_duplicates(hashes_, equal);
}

std::vector<Duplicate> duplicate_columns(const RowMatrix& own, const TableRanks& ranks) {
  ColumnHashes hashes;
  ranks.in_turn(hashes, [&] { hashes.add(own); });
  return hashes.duplicates([&](Index a, Index b) { return ranks.all(own.col(a) == own.col(b)); });
}

std::vector<Duplicate> duplicate_columns(const SparseRowMatrix& x) {
  return find_duplicates(column_hashes(x), [&](Index a, Index b) { return equal_columns(x, a, b); });
}

namespace {

void remove_features(FeaturesTerm& term, const std::set<std::string>& names) {
  FeaturesTerm kept;
  kept.count = term.count;
  for (std::size_t i = 0; i < term.kept.size(); ++i) {
    if (names.contains(feature_name(term.kept[i]))) continue;
    kept.kept.push_back(term.kept[i]);
    kept.scales.push_back(term.scales[i]);
  }
  term = std::move(kept);
}

/// Takes columns of the design, by name, out of the specification.
void remove(DesignSpec& spec, const std::set<std::string>& names) {
  for (Term& term : spec.terms) {
    const std::vector<std::string> own = term.names();
    const auto keep_others = [&](std::vector<Index>& coded) {
      std::vector<Index> kept;
      for (std::size_t k = 0; k < coded.size(); ++k)
        if (!names.contains(own[k])) kept.push_back(coded[k]);
      coded = std::move(kept);
    };
    if (auto* bins = std::get_if<BinsTerm>(&term.encoding)) keep_others(bins->coded);
    if (auto* levels = std::get_if<LevelsTerm>(&term.encoding)) keep_others(levels->coded);
  }
  std::erase_if(spec.terms, [&](const Term& term) {
    const bool number = std::holds_alternative<NumberTerm>(term.encoding);
    return number ? names.contains(term.column) : term.names().empty();
  });
  if (spec.features) remove_features(*spec.features, names);
}

/// In order.
std::vector<Index> kept_columns(Index columns, const std::vector<Duplicate>& duplicates) {
  std::vector<bool> dropped(static_cast<std::size_t>(columns), false);
  for (const Duplicate& duplicate : duplicates) dropped[static_cast<std::size_t>(duplicate.column)] = true;
  std::vector<Index> kept;
  for (Index column = 0; column < columns; ++column)
    if (!dropped[static_cast<std::size_t>(column)]) kept.push_back(column);
  return kept;
}

SparseRowMatrix without_duplicates(const SparseRowMatrix& x, const std::vector<Duplicate>& duplicates) {
  constexpr Index kDropped = -1;
  const std::vector<Index> kept = kept_columns(x.cols(), duplicates);
  std::vector<Index> place(static_cast<std::size_t>(x.cols()), kDropped);
  for (std::size_t k = 0; k < kept.size(); ++k)
    place[static_cast<std::size_t>(kept[k])] = static_cast<Index>(k);
  SparseRowMatrix out(x.rows(), static_cast<Index>(kept.size()));
  out.reserve(x.nonZeros());
  for (Index row = 0; row < x.rows(); ++row) {
    out.startVec(row);
    for (SparseRowMatrix::InnerIterator cell(x, row); cell; ++cell)
      if (const Index column = place[static_cast<std::size_t>(cell.col())]; column != kDropped)
        out.insertBack(row, column) = cell.value();
  }
  out.finalize();
  return out;
}

}  // namespace

void drop_duplicates(DesignSpec& spec, const std::vector<Duplicate>& duplicates) {
  const std::vector<std::string> names = spec.names();
  std::set<std::string> dropped;
  for (const Duplicate& duplicate : duplicates) {
    const std::string& name = names[static_cast<std::size_t>(duplicate.column)];
    const std::string& kept = names[static_cast<std::size_t>(duplicate.same_as)];
    dropped.insert(name);
    spec.dropped.push_back({name, fmt::format("equals {}", excerpt(kept))});
  }
  if (!dropped.empty()) remove(spec, dropped);
}

RowMatrix without_duplicates(const RowMatrix& x, const std::vector<Duplicate>& duplicates) {
  const std::vector<Index> kept = kept_columns(x.cols(), duplicates);
  RowMatrix out(x.rows(), static_cast<Index>(kept.size()));
  for (Index row = 0; row < x.rows(); ++row)
    for (std::size_t k = 0; k < kept.size(); ++k) out(row, static_cast<Index>(k)) = x(row, kept[k]);
  return out;
}

void drop_duplicates(EncodedRows& rows, const std::vector<Duplicate>& duplicates) {
  const auto columns = static_cast<Index>(rows.names.size());
  std::vector<std::string> names;
  for (const Index column : kept_columns(columns, duplicates))
    names.push_back(std::move(rows.names[static_cast<std::size_t>(column)]));
  rows.names = std::move(names);
  if (rows.sparse_x.size() > 0)
    rows.sparse_x = without_duplicates(rows.sparse_x, duplicates);
  else
    rows.x = without_duplicates(rows.x, duplicates);
}

void note_dropped(const DesignSpec& spec, std::vector<std::string>& notes) {
  std::map<std::string, std::vector<std::string>> names_by_reason;
  for (const DroppedColumn& column : spec.dropped) names_by_reason[column.reason].push_back(column.name);
  for (const auto& [reason, dropped] : names_by_reason)
    notes.push_back(fmt::format("dropped {} ({})", name_list(dropped, 10), reason));
  if (spec.names().size() == 1) notes.emplace_back("no predictor is left: the model has an intercept alone");
}

}  // namespace magva::table
