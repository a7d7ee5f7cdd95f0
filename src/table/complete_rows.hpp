#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "table/design_spec.hpp"
#include "table/table.hpp"

namespace magva::input {

/// The missing cells of a table that may come in parts.
class MissingCells {
 public:
  /// The rows of the part that have no missing cell in `used`.
  std::vector<Index> add(const Table& part, const std::vector<const Column*>& used);
  /// At the end: where there are missing cells, either says in a note how many rows were dropped, or throws a
  /// DataError with the count and the first places.
  void settle(const std::string& source, MissingPolicy policy, std::vector<std::string>& notes) const;
  Index complete() const { return rows_ - incomplete_; }

 private:
  struct Place {
    std::int64_t line;
    std::string column;
  };
  [[noreturn]] void refuse(const std::string& source) const;

  Index cells_ = 0;
  Index rows_ = 0;
  Index incomplete_ = 0;
  std::vector<Place> places_;  ///< the first few
};

/// The rows of a whole table without a missing cell in `used`, settled.
std::vector<Index> complete_rows(const Table& table, const std::vector<const Column*>& used,
                                 MissingPolicy policy, std::vector<std::string>& notes);

}  // namespace magva::input
