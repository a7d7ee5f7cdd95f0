#pragma once
// Which groups of nested factors lie in which.
#include <vector>

#include "mixed/grouped_rows.hpp"

namespace magva::mixed {

struct NestedGroup {
  Index first_row, end_row;
  Index first_child, end_child;  ///< of the next level
  Index level_number;            ///< in the term's own numbering
};

/// The groups of one level in a chunk.
struct LevelOfChunk {
  Index first = 0, count = 0;
  std::vector<Index> parent;        ///< of each, its number in the chunk's part of the level above
  std::vector<Index> group_of_row;  ///< of each row of the chunk
  std::vector<Index> end_row;       ///< of each, in the chunk
  std::vector<Index> end_child;     ///< of each, in the chunk's part of the level below
};

/// Levels from the outermost to the innermost, of a problem whose rows are sorted by them.
class NestedGroups {
 public:
  NestedGroups(const Problem& problem, const std::vector<std::size_t>& order);
  std::size_t depth() const { return levels_.size(); }
  const NestedGroup& group(std::size_t level, Index number) const {
    return levels_[level][static_cast<std::size_t>(number)];
  }
  /// One past the last row of each outermost group.
  std::vector<Index> ends() const;
  /// Whether each group of the innermost level is a single row.
  bool innermost_are_rows() const;
  std::vector<LevelOfChunk> levels_of(const GroupChunk& chunk) const;

 private:
  std::vector<std::vector<NestedGroup>> levels_;
};

/// Rows sorted by the groups of the terms in this order.
Problem sort_by_groups(Problem problem, const std::vector<std::size_t>& order);

/// Rows that have the same response, trials, status and weight.
struct EqualResponses {
  std::vector<Index> of_row;
  std::vector<Index> row;  ///< a row of each
};
EqualResponses find_equal_responses(const Problem& problem);

}  // namespace magva::mixed
