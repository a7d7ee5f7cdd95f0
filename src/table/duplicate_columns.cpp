#include "table/duplicate_columns.hpp"

#include <bit>
#include <cstdint>
#include <unordered_map>

namespace magva::input {

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

std::vector<Duplicate> duplicate_columns(const RowMatrix& x) {
  ColumnHashes hashes;
  hashes.add(x);
  return hashes.duplicates([&](Index a, Index b) { return x.col(a) == x.col(b); });
}

std::vector<Duplicate> duplicate_columns(const SparseRowMatrix& x) {
  return find_duplicates(column_hashes(x), [&](Index a, Index b) { return equal_columns(x, a, b); });
}

}  // namespace magva::input
