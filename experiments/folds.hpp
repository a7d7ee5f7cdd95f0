#pragma once
// Which fold each row belongs to, 0, 1, ...
#include <cstdint>
#include <filesystem>
#include <vector>

#include "magva/types.hpp"

namespace magva::experiments {

/// Each class is shuffled and dealt to the folds in turn.
std::vector<int> stratified_folds(ConstVectorRef classes, int folds, std::uint64_t seed);
/// One number a row, from 1, below a header line. DataError where that is not so.
std::vector<int> read_folds(const std::filesystem::path& path, Index rows);
int fold_count(const std::vector<int>& folds);

struct FoldRows {
  std::vector<Index> training, test;
};
FoldRows rows_of(const std::vector<int>& folds, int fold);

}  // namespace magva::experiments
