// The Hessian's pattern by moving one coordinate at a time, and checks of it elsewhere.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "core/noise.hpp"
#include "sparse/group_probing.hpp"
#include "sparse/hessian_pattern.hpp"

namespace magva {

namespace {

/// How far a coordinate is moved, and how far the points lie from the one that was given, in posterior sds:
/// at a mode, or where a parameter is exactly 0, entries may vanish that do not elsewhere.
constexpr double kMove = .1;
constexpr double kAside = .5;
/// A pattern is of use where its colours are at most this share of m, or this many, and its entries this
/// share of m^2: E[-Hessian] from a few Hessians has far less noise than from as many gradients.
constexpr double kMostColours = .25;
constexpr Index kFewColours = 64;
constexpr double kMostEntries = .5;
/// Largest m for which coordinates are moved one by one.
constexpr Index kOneByOne = 4000;
/// Most numbers in a factor of such a matrix, and most multiplications for it.
constexpr Index kMostFactorNumbers = 50'000'000;
constexpr double kMostFactorWork = 2e10;
/// Points elsewhere at which it is checked, and the share of all places that a check may reach.
constexpr int kChecks = 8;
constexpr double kReach = .5;
constexpr Index kColumns = 64;
/// A coordinate that changes at least so many others, at least this share of them by equal amounts, is a
/// member of a sum; amounts are equal to within kSame.
constexpr std::size_t kLeastMembers = 32;
constexpr double kMembersShare = .5;
constexpr double kSame = 1e-7;

bool changed(double before, double after, double beside = 0) {
  return std::abs(after - before) >
         kRounding * (std::abs(before) + std::abs(after)) + kSame * std::abs(beside);
}

Vector normal(Index m, std::uint64_t seed, std::uint64_t number) {
  Matrix out(m, 1);
  Noise(seed, NoiseStream::kStarts).fill(1'000'000 + number, 0, out);
  return out.col(0);
}

struct PointWithGradient {
  Vector theta;
  Vector gradient;
  bool finite;
};

PointWithGradient evaluate_aside(Evaluator& evaluator, ConstVectorRef at, ConstVectorRef scale,
                                 std::uint64_t seed, std::uint64_t number) {
  PointWithGradient out{at + kAside * scale.cwiseProduct(normal(at.size(), seed, number)), Vector(at.size()),
                        false};
  out.finite = std::isfinite(evaluator.evaluate(out.theta, out.gradient));
  return out;
}

/// What a coordinate changes: by amounts of its own, and by one amount that many others share.
struct Changes {
  std::vector<Index> own;
  std::vector<Index> shared;
  double weight = 0;  ///< the shared change, over the move, of -gradient
};

Changes changes_of(Index coordinate, ConstVectorRef before, ConstVectorRef after, double move) {
  Changes out;
  std::vector<Index> all;
  for (Index i = 0; i < before.size(); ++i)
    if (i == coordinate || changed(before(i), after(i))) all.push_back(i);
  double common = 0;
  if (all.size() >= kLeastMembers) {
    std::vector<double> amounts;
    for (const Index i : all) amounts.push_back(after(i) - before(i));
    const auto middle = amounts.begin() + static_cast<std::ptrdiff_t>(amounts.size() / 2);
    std::nth_element(amounts.begin(), middle, amounts.end());
    common = *middle;
  }
  for (const Index i : all) {
    const bool same = common != 0 && i != coordinate && !changed(before(i) + common, after(i), common);
    (same ? out.shared : out.own).push_back(i);
  }
  out.weight = -common / move;
  if (out.weight > 0 &&
      static_cast<double>(out.shared.size()) >= kMembersShare * static_cast<double>(all.size()))
    return out;
  return {std::move(all), {}, 0};
}

/// Of many coordinates, none of which shares a sum.
std::vector<Changes> find_changes_in_groups(Evaluator& evaluator, const PointWithGradient& from,
                                            ConstVectorRef scale, std::uint64_t seed) {
  std::vector<Changes> out;
  for (auto& changed : probe_in_groups(evaluator, from.theta, from.gradient, kMove * scale, seed))
    out.push_back({std::move(changed), {}, 0});
  return out;
}

/// Of every coordinate. Empty where a gradient is not finite, or where there are too many.
std::vector<Changes> find_changes(Evaluator& evaluator, const PointWithGradient& from, ConstVectorRef scale) {
  const Index m = from.theta.size();
  const double most = kMostEntries * static_cast<double>(m) * static_cast<double>(m);
  std::vector<Changes> out;
  double found = 0;
  for (Index first = 0; first < m; first += kColumns) {
    const Index count = std::min(kColumns, m - first);
    Matrix theta = from.theta.replicate(1, count);
    for (Index j = 0; j < count; ++j) theta(first + j, j) += kMove * scale(first + j);
    Vector log_density(count);
    Matrix gradient(m, count);
    evaluator.evaluate(theta, log_density, gradient);
    if (!log_density.allFinite()) return {};
    for (Index j = 0; j < count; ++j) {
      out.push_back(changes_of(first + j, from.gradient, gradient.col(j), kMove * scale(first + j)));
      found += static_cast<double>(out.back().own.size());
    }
    if (found > most) return {};
  }
  return out;
}

/// What one coordinate shares with others is a sum's only if each of them shares it, too: the mean of many
/// effects changes them by one amount, but they do not change each other.
void keep_mutual(std::vector<Changes>& changes) {
  std::vector<std::size_t> others;
  for (std::size_t j = 0; j < changes.size(); ++j)
    if (std::any_of(changes[j].shared.begin(), changes[j].shared.end(),
                    [&](Index i) { return changes[static_cast<std::size_t>(i)].shared.empty(); }))
      others.push_back(j);
  for (const std::size_t j : others) {
    auto& [own, shared, weight] = changes[j];
    own.insert(own.end(), shared.begin(), shared.end());
    shared.clear();
  }
}

/// Which coordinates are members of the same sum. Nothing where that is contradictory.
std::optional<std::vector<SumTerm>> find_sums(const std::vector<Changes>& changes) {
  constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> sum_of(changes.size(), none);
  std::vector<SumTerm> sums;
  for (std::size_t j = 0; j < changes.size(); ++j) {
    const auto& [own, shared, weight] = changes[j];
    if (shared.empty()) continue;
    std::size_t sum = sum_of[j];
    for (const Index i : shared)
      if (sum == none) sum = sum_of[static_cast<std::size_t>(i)];
    if (sum == none) {
      sum = sums.size();
      sums.push_back({{}, weight});
    }
    if (std::abs(weight - sums[sum].weight) > std::sqrt(kSame) * weight) return std::nullopt;
    std::vector<Index> members = shared;
    members.push_back(static_cast<Index>(j));
    for (const Index i : members) {
      std::size_t& known = sum_of[static_cast<std::size_t>(i)];
      if (known != none && known != sum) return std::nullopt;
      if (known == none) sums[sum].members.push_back(i);
      known = sum;
    }
  }
  return sums;
}

/// Symmetric: what either of two coordinates changes in the other.
PatternEntries symmetric_entries(const std::vector<Changes>& changes) {
  std::vector<std::pair<Index, Index>> places;
  for (std::size_t j = 0; j < changes.size(); ++j)
    for (const Index i : changes[j].own)
      places.emplace_back(std::max(i, static_cast<Index>(j)), std::min(i, static_cast<Index>(j)));
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  PatternEntries out;
  for (const auto& [row, column] : places) {
    out.rows.push_back(row);
    out.columns.push_back(column);
  }
  return out;
}

/// Moves some coordinates elsewhere: all derivatives that by the pattern do not depend on them must stay.
bool holds_elsewhere(Evaluator& evaluator, const HessianPattern& pattern,
                     const std::vector<std::vector<Index>>& changes, ConstVectorRef at, ConstVectorRef scale,
                     std::uint64_t seed, std::uint64_t number) {
  const Index m = at.size();
  const PointWithGradient from = evaluate_aside(evaluator, at, scale, seed, number);
  if (!from.finite) return true;  // it says nothing
  const Vector key = normal(m, seed, 1000 + number);
  std::vector<Index> order(static_cast<std::size_t>(m));
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index a, Index b) { return key(a) < key(b); });
  std::vector<char> reached(static_cast<std::size_t>(m), 0);
  Vector theta = from.theta;
  double left = kReach * static_cast<double>(m);
  for (const Index j : order) {
    const auto& of_j = changes[static_cast<std::size_t>(j)];
    if (static_cast<double>(of_j.size()) > left) continue;
    left -= static_cast<double>(of_j.size());
    theta(j) += kMove * scale(j);
    for (const Index i : of_j) reached[static_cast<std::size_t>(i)] = 1;
  }
  Vector gradient(m);
  if (!std::isfinite(evaluator.evaluate(theta, gradient))) return true;
  const Vector by_sums = -pattern.sums() * (pattern.sums().transpose() * (theta - from.theta));
  for (Index i = 0; i < m; ++i)
    if (reached[static_cast<std::size_t>(i)] == 0 &&
        changed(from.gradient(i) + by_sums(i), gradient(i), by_sums(i)))
      return false;
  return true;
}

bool is_useful(const HessianPattern& pattern) {
  const SparseCholesky& factor = pattern.structure()->cholesky();
  const double most = std::max(static_cast<double>(std::min(kFewColours, pattern.dimension() / 2)),
                               kMostColours * static_cast<double>(pattern.dimension()));
  return static_cast<double>(pattern.colours()) <= most && factor.storage() <= kMostFactorNumbers &&
         factor.work() <= kMostFactorWork;
}

}  // namespace

std::shared_ptr<const HessianPattern> find_hessian_pattern(Evaluator& evaluator, ConstVectorRef at,
                                                           ConstVectorRef scale, std::uint64_t seed) {
  const Index m = at.size();
  const PointWithGradient from = evaluate_aside(evaluator, at, scale, seed, 0);
  if (!from.finite) return nullptr;
  auto found = m > kOneByOne ? find_changes_in_groups(evaluator, from, scale, seed)
                             : find_changes(evaluator, from, scale);
  if (found.empty()) return nullptr;
  keep_mutual(found);
  auto sums = find_sums(found);
  if (!sums) return nullptr;
  PatternEntries entries = symmetric_entries(found);
  entries.sums = std::move(*sums);
  std::vector<std::vector<Index>> changes(static_cast<std::size_t>(m));
  for (std::size_t k = 0; k < entries.rows.size(); ++k) {
    changes[static_cast<std::size_t>(entries.columns[k])].push_back(entries.rows[k]);
    changes[static_cast<std::size_t>(entries.rows[k])].push_back(entries.columns[k]);
  }
  auto pattern = std::make_shared<const HessianPattern>(m, std::move(entries));
  if (!is_useful(*pattern)) return nullptr;
  for (std::uint64_t k = 1; k <= kChecks; ++k)
    if (!holds_elsewhere(evaluator, *pattern, changes, at, scale, seed, k)) return nullptr;
  return pattern;
}

}  // namespace magva
