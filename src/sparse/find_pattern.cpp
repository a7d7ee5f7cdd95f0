// The Hessian's pattern by moving one coordinate at a time, and checks of it elsewhere.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/noise.hpp"
#include "sparse/hessian_pattern.hpp"

namespace magva {

namespace {

/// A derivative that changes by less, relative to itself, has not changed: sums may be rounded otherwise.
constexpr double kRounding = 1e-13;
/// How far a coordinate is moved, and how far the points lie from the one that was given, in posterior sds:
/// at a mode, or where a parameter is exactly 0, entries may vanish that do not elsewhere.
constexpr double kMove = .1;
constexpr double kAside = .5;
/// A pattern is of use where its colours are at most this share of m, and its entries this share of m^2.
constexpr double kMostColours = .25;
constexpr double kMostEntries = .1;
/// Points elsewhere at which it is checked, and the share of all places that a check may reach.
constexpr int kChecks = 8;
constexpr double kReach = .5;
constexpr Index kColumns = 64;

bool changed(double before, double after) {
  return std::abs(after - before) > kRounding * (std::abs(before) + std::abs(after));
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

/// What each coordinate changes, by flags: one column per coordinate. Empty where a gradient is not finite.
std::vector<std::vector<Index>> find_changes(Evaluator& evaluator, const PointWithGradient& from,
                                             ConstVectorRef scale) {
  const Index m = from.theta.size();
  const double most = kMostEntries * static_cast<double>(m) * static_cast<double>(m);
  std::vector<std::vector<Index>> out(static_cast<std::size_t>(m));
  double found = 0;
  for (Index first = 0; first < m; first += kColumns) {
    const Index count = std::min(kColumns, m - first);
    Matrix theta = from.theta.replicate(1, count);
    for (Index j = 0; j < count; ++j) theta(first + j, j) += kMove * scale(first + j);
    Vector log_density(count);
    Matrix gradient(m, count);
    evaluator.evaluate(theta, log_density, gradient);
    if (!log_density.allFinite()) return {};
    for (Index j = 0; j < count; ++j)
      for (Index i = 0; i < m; ++i)
        if (i == first + j || changed(from.gradient(i), gradient(i, j)))
          out[static_cast<std::size_t>(first + j)].push_back(i);
    for (Index j = 0; j < count; ++j)
      found += static_cast<double>(out[static_cast<std::size_t>(first + j)].size());
    if (found > most) return {};
  }
  return out;
}

/// Symmetric: what either of two coordinates changes in the other.
PatternEntries symmetric_entries(const std::vector<std::vector<Index>>& changes) {
  std::vector<std::pair<Index, Index>> places;
  for (std::size_t j = 0; j < changes.size(); ++j)
    for (const Index i : changes[j])
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
bool holds_elsewhere(Evaluator& evaluator, const std::vector<std::vector<Index>>& changes, ConstVectorRef at,
                     ConstVectorRef scale, std::uint64_t seed, std::uint64_t number) {
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
  for (Index i = 0; i < m; ++i)
    if (reached[static_cast<std::size_t>(i)] == 0 && changed(from.gradient(i), gradient(i))) return false;
  return true;
}

}  // namespace

std::shared_ptr<const HessianPattern> find_hessian_pattern(Evaluator& evaluator, ConstVectorRef at,
                                                           ConstVectorRef scale, std::uint64_t seed) {
  const Index m = at.size();
  const PointWithGradient from = evaluate_aside(evaluator, at, scale, seed, 0);
  if (!from.finite) return nullptr;
  auto changes = find_changes(evaluator, from, scale);
  if (changes.empty()) return nullptr;
  PatternEntries entries = symmetric_entries(changes);
  for (auto& of_column : changes) of_column.clear();
  for (std::size_t k = 0; k < entries.rows.size(); ++k) {
    changes[static_cast<std::size_t>(entries.columns[k])].push_back(entries.rows[k]);
    changes[static_cast<std::size_t>(entries.rows[k])].push_back(entries.columns[k]);
  }
  auto pattern = std::make_shared<const HessianPattern>(m, std::move(entries));
  if (static_cast<double>(pattern->colours()) > kMostColours * static_cast<double>(m)) return nullptr;
  for (std::uint64_t k = 1; k <= kChecks; ++k)
    if (!holds_elsewhere(evaluator, changes, at, scale, seed, k)) return nullptr;
  return pattern;
}

}  // namespace magva
