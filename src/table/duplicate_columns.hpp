#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "table/table.hpp"

namespace magva::input {

struct Duplicate {
  Index column;
  Index same_as;  ///< an earlier column that is equal in every row
};

/// Whether two columns are equal in every row.
using EqualColumns = std::function<bool(Index, Index)>;

/// Of dense rows that come in parts: fingerprints tell which columns are worth comparing.
class ColumnHashes {
 public:
  void add(const RowMatrix& part);
  std::vector<Duplicate> duplicates(const EqualColumns& equal) const;

 private:
  std::vector<std::uint64_t> hashes_;
  Index rows_ = 0;
};

std::vector<Duplicate> duplicate_columns(const RowMatrix& x);
std::vector<Duplicate> duplicate_columns(const SparseRowMatrix& x);

}  // namespace magva::input
