#pragma once
#include <vector>

#include "input/table.hpp"

namespace magva::input {

struct Duplicate {
  Index column;
  Index same_as;  ///< an earlier column that is equal in every row
};

std::vector<Duplicate> duplicate_columns(const RowMatrix& x);
std::vector<Duplicate> duplicate_columns(const SparseRowMatrix& x);

}  // namespace magva::input
