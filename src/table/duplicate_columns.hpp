#pragma once
// Columns of a design that equal an earlier one: finding them, and taking them out of its specification and
// rows.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "magva/table.hpp"
#include "table/table_ranks.hpp"

namespace magva::table {

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

  template <class Archive>
  void transfer(Archive& archive) {
    archive(hashes_, rows_);
  }

 private:
  std::vector<std::uint64_t> hashes_;
  Index rows_ = 0;
};

/// Of the rows of all ranks.
std::vector<Duplicate> duplicate_columns(const RowMatrix& own, const TableRanks& ranks = {});
std::vector<Duplicate> duplicate_columns(const SparseRowMatrix& x);

/// Takes columns of the design that equal an earlier one out of its specification.
void drop_duplicates(DesignSpec& spec, const std::vector<Duplicate>& duplicates);

/// Takes the same columns out of rows that are encoded already.
void drop_duplicates(EncodedRows& rows, const std::vector<Duplicate>& duplicates);
/// The columns that stay, of a dense matrix.
RowMatrix without_duplicates(const RowMatrix& x, const std::vector<Duplicate>& duplicates);

/// Says which columns were dropped and why.
void note_dropped(const DesignSpec& spec, std::vector<std::string>& notes);

}  // namespace magva::table
