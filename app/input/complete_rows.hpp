#pragma once
#include <string>
#include <vector>

#include "input/design_spec.hpp"
#include "input/table.hpp"

namespace magva::input {

/// The rows without a missing cell in `used`. Where there are missing cells, either says in a note how many
/// rows were dropped, or throws a DataError with the count and the first places.
std::vector<Index> complete_rows(const Table& table, const std::vector<const Column*>& used,
                                 MissingPolicy policy, std::vector<std::string>& notes);

}  // namespace magva::input
