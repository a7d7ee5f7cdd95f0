#pragma once
// Which fold each row belongs to, 0, 1, ...
#include <cstdint>
#include <filesystem>
#include <vector>

#include "magva/types.hpp"

namespace magva::experiments {

/// Each class (0 or 1) is shuffled and dealt to the folds in turn. Counter-based: split s of a seed is the
/// same on every machine, however many splits are made.
std::vector<int> stratified_folds(ConstVectorRef classes, int folds, std::uint64_t seed, std::uint32_t split);
/// One column per split, one line per row, folds from 1; a file with one column can be read back.
void write_folds(const std::vector<std::vector<int>>& splits, const std::filesystem::path& path);
/// One number per row, from 1, below a header line. DataError where that is not so.
std::vector<int> read_folds(const std::filesystem::path& path, Index rows);
int fold_count(const std::vector<int>& folds);

struct FoldRows {
  std::vector<Index> training, test;
};
FoldRows rows_of(const std::vector<int>& folds, int fold);

}  // namespace magva::experiments
