#pragma once
// Sums over rows in an order that does not depend on the number of ranks: the rows of all are cut into
// sections by their number alone, and the sections' sums are added in pairs, pairs of pairs, ... Each rank
// adds up the largest such groups that are its own (its nodes), the leader the rest.
#include <vector>

#include "magva/workers.hpp"

namespace magva::detail {

/// How many sections so many rows have: a power of two.
Index section_count(Index rows);
/// The sections of a rank, consecutive ones.
inline Range sections_of_rank(Index sections, int rank, int size) { return piece(sections, size, rank); }

/// A rank's groups of sections whose sums are needed as such: each begins at a multiple of its length, a
/// power of two.
std::vector<Range> nodes_of(Range sections);

/// Adds up all ranks' nodes; the result is in the first.
class NodeTree {
 public:
  NodeTree(Index sections, int ranks);
  /// Nodes of the rank that has most: all send as many.
  Index nodes_per_rank() const { return nodes_per_rank_; }
  /// part(rank, node) are `count` values each.
  template <class Part>
  void add_up(Index count, const Part& part) const {
    for (const Addition& a : additions_) {
      double* to = part(a.to.rank, a.to.node);
      const double* from = part(a.from.rank, a.from.node);
      for (Index i = 0; i < count; ++i) to[i] += from[i];
    }
  }

 private:
  struct Place {
    int rank;
    Index node;
  };
  struct Addition {
    Place to, from;
  };
  Index nodes_per_rank_ = 0;
  std::vector<Addition> additions_;
};

}  // namespace magva::detail
