#pragma once
// In which order the blocks of a sparse matrix are eliminated, and which of them share a front.
#include <cstdint>
#include <utility>
#include <vector>

#include "magva/types.hpp"

namespace magva {

/// Blocks (row, column) of a symmetric matrix that may differ from zero; those of the diagonal always may.
struct BlockPattern {
  std::vector<Index> sizes;                                  ///< of the diagonal's blocks
  std::vector<std::pair<std::int32_t, std::int32_t>> below;  ///< row > column, each once
  Index pinned = 0;  ///< so many blocks at the end are eliminated last
};

/// Blocks that are eliminated together: `blocks` of them from number `first` of the order on.
struct FrontNode {
  std::int32_t first = 0;
  std::int32_t blocks = 0;
  std::int32_t parent = -1;         ///< -1: a root
  std::vector<std::int32_t> below;  ///< later blocks that it updates, as numbers of the order, ascending
};

struct FrontTree {
  std::vector<std::int32_t> order;     ///< order[k] is eliminated k-th
  std::vector<std::int32_t> position;  ///< its inverse
  std::vector<FrontNode> fronts;       ///< children before parents, each subtree contiguous
};

/// Approximate minimum degree, the elimination tree in postorder, and relaxed supernodes.
FrontTree make_front_tree(const BlockPattern& pattern);

}  // namespace magva
