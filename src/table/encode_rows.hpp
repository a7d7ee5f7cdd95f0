#pragma once
// Rows of a table as rows of a design: which columns are used, which rows are complete, and their encoding.
#include <cstdint>
#include <string>
#include <vector>

#include "magva/table.hpp"

namespace magva::table {

/// The columns of a table that a design with these options is made of.
struct UsedColumns {
  const Column* response = nullptr;
  const Column* weights = nullptr;  ///< null if there are none
  std::vector<const Column*> predictors;

  std::vector<const Column*> all() const;
};

/// Throws UsageError or DataError if an option names a column that cannot be used.
UsedColumns used_columns(const Table& table, const DesignOptions& options);

/// Those that a design which is learnt already needs. DataError if one is missing.
UsedColumns used_columns(const Table& table, const DesignSpec& spec);

/// Whether the options want a column, or a feature of a LIBSVM file, as a predictor.
bool wanted(const DesignOptions& options, const std::string& name);

/// The missing cells of a table that may come in parts.
class MissingCells {
 public:
  /// The rows of the part that have no missing cell in `used`.
  std::vector<Index> add(const Table& part, const std::vector<const Column*>& used);
  /// At the end: if there are missing cells, either says in a note how many rows were dropped, or throws a
  /// DataError with the count and the first places, as the policy says.
  void finalize(const std::string& source, MissingPolicy policy, std::vector<std::string>& notes) const;
  Index complete() const { return rows_ - incomplete_; }
  template <class Archive>
  void transfer(Archive& archive) {
    archive(cells_, rows_, incomplete_, places_);
  }

 private:
  [[noreturn]] void fail(const std::string& source) const;

  Index cells_ = 0;
  Index rows_ = 0;
  Index incomplete_ = 0;
  std::vector<std::string> places_;  ///< the first few
};

/// How many rows of a table have no missing cell in the columns that the design needs.
Index count_complete_rows(const DesignSpec& spec, const Table& table);

/// Some rows without missing cells, encoded as `spec` says, with response and weights unless they are null.
EncodedRows encode_rows(const DesignSpec& spec, const Table& table, std::vector<Index> rows,
                        const Column* response, const Column* weights);

}  // namespace magva::table
