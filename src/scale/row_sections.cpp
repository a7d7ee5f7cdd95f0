#include "scale/row_sections.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace magva::detail {

Index section_count(Index rows) {
  constexpr Index kMostSections =
      256;                        // ranks take whole ones: for up to 32 they differ by an eighth at most
  constexpr Index kFewRows = 32;  // in a section, if there are enough
  const Index wanted = std::max(rows / kFewRows, std::min<Index>(rows, 64));
  return std::min(kMostSections, static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(wanted))));
}

std::vector<Range> nodes_of(Range sections) {
  std::vector<Range> nodes;
  for (Index at = sections.begin; at < sections.end;) {
    Index length = 1;
    while (at % (2 * length) == 0 && at + 2 * length <= sections.end) length *= 2;
    nodes.push_back({at, at + length});
    at += length;
  }
  return nodes;
}

NodeTree::NodeTree(Index sections, int ranks) {
  struct Open {
    Range range;
    Place place;
  };
  std::vector<Open> open;  // to the left of the node in hand, the longest first
  for (int rank = 0; rank < ranks; ++rank) {
    const auto nodes = nodes_of(sections_of_rank(sections, rank, ranks));
    nodes_per_rank_ = std::max(nodes_per_rank_, static_cast<Index>(nodes.size()));
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      Open node{nodes[k], {rank, static_cast<Index>(k)}};
      while (!open.empty() && open.back().range.size() == node.range.size() &&
             open.back().range.begin % (2 * node.range.size()) == 0) {
        additions_.push_back({open.back().place, node.place});
        node = {{open.back().range.begin, node.range.end}, open.back().place};
        open.pop_back();
      }
      open.push_back(node);
    }
  }
  // Sections that are no power of two leave some groups without a partner.
  for (; open.size() > 1; open.pop_back())
    additions_.push_back({open[open.size() - 2].place, open.back().place});
}

}  // namespace magva::detail
