#include "mixed/nested_groups.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "mixed/group_integral.hpp"

namespace magva::mixed {

NestedGroups::NestedGroups(const Problem& problem, const std::vector<std::size_t>& order) {
  for (const std::size_t term : order) {
    const auto& group = problem.data.terms[term].group;
    std::vector<NestedGroup> found;
    for (Index i = 0; i < problem.rows(); ++i) {
      const std::int32_t here = group[static_cast<std::size_t>(i)];
      if (found.empty() || found.back().level_number != here) found.push_back({i, i, 0, 0, here});
      found.back().end_row = i + 1;
    }
    if (!levels_.empty()) {
      Index child = 0;
      for (NestedGroup& outer : levels_.back()) {
        outer.first_child = child;
        while (child < static_cast<Index>(found.size()) &&
               found[static_cast<std::size_t>(child)].end_row <= outer.end_row)
          ++child;
        outer.end_child = child;
      }
    }
    levels_.push_back(std::move(found));
  }
}

std::vector<Index> NestedGroups::ends() const {
  std::vector<Index> ends;
  for (const NestedGroup& outer : levels_[0]) ends.push_back(outer.end_row);
  return ends;
}

bool NestedGroups::innermost_are_rows() const {
  return std::all_of(levels_.back().begin(), levels_.back().end(),
                     [](const NestedGroup& group) { return group.end_row == group.first_row + 1; });
}

std::vector<LevelOfChunk> NestedGroups::levels_of(const GroupChunk& chunk) const {
  std::vector<LevelOfChunk> out;
  Index first = chunk.first_group, end = chunk.first_group + chunk.groups;
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    LevelOfChunk here{first, end - first, {}, {}, {}, {}};
    here.group_of_row.resize(static_cast<std::size_t>(chunk.rows));
    for (Index g = first; g < end; ++g) {
      here.end_row.push_back(group(level, g).end_row - chunk.first_row);
      here.end_child.push_back(group(level, g).end_child - group(level, first).first_child);
      std::fill(here.group_of_row.begin() + (group(level, g).first_row - chunk.first_row),
                here.group_of_row.begin() + (group(level, g).end_row - chunk.first_row), g - first);
    }
    for (Index g = first; g < end && level > 0; ++g)
      here.parent.push_back(
          out.back().group_of_row[static_cast<std::size_t>(group(level, g).first_row - chunk.first_row)]);
    out.push_back(std::move(here));
    const Index last = end - 1;
    end = group(level, last).end_child;
    first = group(level, first).first_child;
  }
  return out;
}

Problem sort_by_groups(Problem problem, const std::vector<std::size_t>& order) {
  std::vector<Index> rows(static_cast<std::size_t>(problem.rows()));
  std::iota(rows.begin(), rows.end(), Index{0});
  std::stable_sort(rows.begin(), rows.end(), [&](Index a, Index b) {
    for (const std::size_t k : order) {
      const auto& group = problem.data.terms[k].group;
      const std::int32_t ga = group[static_cast<std::size_t>(a)], gb = group[static_cast<std::size_t>(b)];
      if (ga != gb) return ga < gb;
    }
    return false;
  });
  return reorder(std::move(problem), rows);
}

EqualResponses find_equal_responses(const Problem& problem) {
  EqualResponses out;
  std::map<std::array<double, 4>, Index> known;
  for (Index i = 0; i < problem.rows(); ++i) {
    const ResponseRows row = problem.response().from(i, 1);
    const std::array<double, 4> key = {row.response[0], row.trials ? row.trials[0] : 1,
                                       row.status ? row.status[0] : 1, problem.weight(i)};
    const auto [found, fresh] = known.emplace(key, static_cast<Index>(known.size()));
    if (fresh) out.row.push_back(i);
    out.of_row.push_back(found->second);
  }
  return out;
}

namespace {

// Whether each group of `inner` lies in one group of `outer`.
bool lies_within(const GroupTerm& inner, const GroupTerm& outer) {
  std::vector<std::int32_t> home(inner.levels.size(), -1);
  for (std::size_t i = 0; i < inner.group.size(); ++i) {
    std::int32_t& at = home[static_cast<std::size_t>(inner.group[i])];
    if (at == -1) at = outer.group[i];
    if (at != outer.group[i]) return false;
  }
  return true;
}

}  // namespace

std::vector<std::size_t> nesting(const std::vector<GroupTerm>& terms) {
  std::vector<std::size_t> order(terms.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return terms[a].levels.size() < terms[b].levels.size();
  });
  for (std::size_t k = 1; k < order.size(); ++k)
    if (!lies_within(terms[order[k]], terms[order[k - 1]])) return {};
  return order;
}

}  // namespace magva::mixed
