#include "core/front_tree.hpp"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>
#include <algorithm>
#include <numeric>

namespace magva {

namespace {

using Int = std::int32_t;
using Lists = std::vector<std::vector<Int>>;

std::size_t at(Int i) { return static_cast<std::size_t>(i); }

// The first blocks by approximate minimum degree, the pinned ones after them.
std::vector<Int> minimum_degree(const BlockPattern& pattern) {
  const auto count = static_cast<Int>(pattern.sizes.size());
  const Int free = count - static_cast<Int>(pattern.pinned);
  std::vector<Eigen::Triplet<double, Int>> entries;
  for (Int i = 0; i < free; ++i) entries.emplace_back(i, i, 1.0);
  for (const auto& [row, column] : pattern.below)
    if (row < free && column < free) entries.emplace_back(row, column, 1.0);
  Eigen::SparseMatrix<double, Eigen::ColMajor, Int> lower(free, free);
  lower.setFromTriplets(entries.begin(), entries.end());
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, Int> permutation;
  if (free > 0)
    Eigen::AMDOrdering<Int>()(
        Eigen::SparseMatrix<double, Eigen::ColMajor, Int>(lower.selfadjointView<Eigen::Lower>()),
        permutation);
  std::vector<Int> order(at(count));
  std::iota(order.begin(), order.end(), 0);
  for (Int k = 0; k < free; ++k) order[at(k)] = permutation.indices()(k);
  return order;
}

std::vector<Int> inverse_of(const std::vector<Int>& order) {
  std::vector<Int> position(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) position[at(order[k])] = static_cast<Int>(k);
  return position;
}

// Of each column the rows below the diagonal, by number of the order.
Lists rows_below(const BlockPattern& pattern, const std::vector<Int>& position) {
  Lists rows(position.size());
  for (const auto& [row, column] : pattern.below) {
    const auto [early, late] = std::minmax(position[at(row)], position[at(column)]);
    rows[at(early)].push_back(late);
  }
  return rows;
}

Lists transposed(const Lists& lists) {
  Lists out(lists.size());
  for (std::size_t k = 0; k < lists.size(); ++k)
    for (Int i : lists[k]) out[at(i)].push_back(static_cast<Int>(k));
  return out;
}

// Liu (1986), with path compression.
std::vector<Int> elimination_tree(const Lists& columns_of_rows) {
  const std::size_t count = columns_of_rows.size();
  std::vector<Int> parent(count, -1), ancestor(count, -1);
  for (std::size_t row = 0; row < count; ++row) {
    for (Int column : columns_of_rows[row]) {
      while (column != -1 && column < static_cast<Int>(row)) {
        const Int next = ancestor[at(column)];
        ancestor[at(column)] = static_cast<Int>(row);
        if (next == -1) parent[at(column)] = static_cast<Int>(row);
        column = next;
      }
    }
  }
  return parent;
}

// Children before parents, each subtree contiguous; without recursion, since trees may be as deep as they are
// large.
std::vector<Int> postorder(const std::vector<Int>& parent) {
  const auto count = static_cast<Int>(parent.size());
  std::vector<Int> first_child(parent.size(), -1), sibling(parent.size(), -1), roots;
  for (Int k = count - 1; k >= 0; --k) {
    if (parent[at(k)] == -1) {
      roots.push_back(k);
    } else {
      sibling[at(k)] = first_child[at(parent[at(k)])];
      first_child[at(parent[at(k)])] = k;
    }
  }
  std::vector<Int> order, path;
  order.reserve(parent.size());
  for (auto root = roots.rbegin(); root != roots.rend(); ++root) {
    path.push_back(*root);
    while (!path.empty()) {
      const Int node = path.back();
      const Int child = first_child[at(node)];
      if (child != -1) {
        first_child[at(node)] = sibling[at(child)];
        path.push_back(child);
      } else {
        order.push_back(node);
        path.pop_back();
      }
    }
  }
  return order;
}

// The rows of each column of the factor: the matrix's own, and those of its children in the elimination tree.
Lists factor_rows(Lists rows) {
  const std::size_t count = rows.size();
  std::vector<Int> mark(count, -1);
  std::vector<std::vector<Int>> children(count);
  for (std::size_t j = 0; j < count; ++j) {
    std::vector<Int>& mine = rows[j];
    for (Int i : mine) mark[at(i)] = static_cast<Int>(j);
    for (Int child : children[j])
      for (Int i : rows[at(child)])
        if (i > static_cast<Int>(j) && mark[at(i)] != static_cast<Int>(j)) {
          mark[at(i)] = static_cast<Int>(j);
          mine.push_back(i);
        }
    std::sort(mine.begin(), mine.end());
    if (!mine.empty()) children[at(mine.front())].push_back(static_cast<Int>(j));
  }
  return rows;
}

// A front of more columns is cut, so that the inverse of a large dense part goes by products of blocks, too.
constexpr double kWidestFront = 192;

// Whether the zeros that a wider front stores are worth its fewer, larger products: rules of CHOLMOD's kind
// (Chen, Davis, Hager & Rajamanickam 2008).
bool worth_merging(double zeros, double entries, double columns) {
  if (columns > kWidestFront) return false;
  if (zeros == 0) return true;
  const double share = zeros / entries;
  if (columns <= 4) return share < .8;
  if (columns <= 16) return share < .3;
  if (columns <= 48) return share < .1;
  return share < .05;
}

// Chains of columns, each the next one's child, as long as merging pays.
std::vector<FrontNode> make_fronts(const Lists& rows, const std::vector<double>& sizes) {
  const auto count = static_cast<Int>(rows.size());
  std::vector<FrontNode> fronts;
  std::vector<double> height(rows.size(), 0);
  for (std::size_t j = 0; j < rows.size(); ++j)
    for (Int i : rows[j]) height[j] += sizes[at(i)];
  double columns = 0, zeros = 0;
  for (Int j = 0; j < count; ++j) {
    if (j > 0 && !rows[at(j - 1)].empty() && rows[at(j - 1)].front() == j) {
      const double width = columns + sizes[at(j)];
      const double added = columns * (sizes[at(j)] + height[at(j)] - height[at(j - 1)]);
      if (worth_merging(zeros + added, width * (.5 * width + height[at(j)]), width)) {
        ++fronts.back().blocks;
        columns = width;
        zeros += added;
        continue;
      }
    }
    fronts.push_back({j, 1, -1, {}});
    columns = sizes[at(j)];
    zeros = 0;
  }
  std::vector<Int> front_of(rows.size());
  for (std::size_t s = 0; s < fronts.size(); ++s)
    for (Int k = 0; k < fronts[s].blocks; ++k) front_of[at(fronts[s].first + k)] = static_cast<Int>(s);
  for (FrontNode& front : fronts) {
    front.below = rows[at(front.first + front.blocks - 1)];
    if (!front.below.empty()) front.parent = front_of[at(front.below.front())];
  }
  return fronts;
}

}  // namespace

FrontTree make_front_tree(const BlockPattern& pattern) {
  FrontTree tree;
  tree.order = minimum_degree(pattern);
  const std::vector<Int> post =
      postorder(elimination_tree(transposed(rows_below(pattern, inverse_of(tree.order)))));
  std::vector<Int> order(post.size());
  for (std::size_t k = 0; k < post.size(); ++k) order[k] = tree.order[at(post[k])];
  tree.order = std::move(order);
  tree.position = inverse_of(tree.order);
  std::vector<double> sizes(tree.order.size());
  for (std::size_t k = 0; k < sizes.size(); ++k)
    sizes[k] = static_cast<double>(pattern.sizes[at(tree.order[k])]);
  tree.fronts = make_fronts(factor_rows(rows_below(pattern, tree.position)), sizes);
  return tree;
}

}  // namespace magva
