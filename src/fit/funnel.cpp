#include "fit/funnel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "magva/class_regression.hpp"
#include "magva/mixed.hpp"
#include "magva/regression.hpp"

namespace magva {

namespace {

/// Coordinates, at most, whose width is looked at, numbers for these, and those that are moved together.
constexpr Index kMostEffects = 512;
constexpr Index kMostEffectNumbers = 10'000'000;
constexpr Index kMovedAtOnce = 64;
/// How far they are moved, in conditional sds.
constexpr double kMoved = .1;
/// A width depends on a parameter if one sd of it changes its logarithm by more; a funnel has at least so
/// many of these, and this share of them change in the same direction.
constexpr double kFelt = .2;
constexpr Index kFewestEffects = 3;
constexpr double kSameDirection = .8;
/// Effects that are named.
constexpr std::size_t kNamedEffects = 3;

/// Of the coordinates in rows, how the logarithms of their conditional sds change with one sd of each
/// parameter, in columns. With g the gradient, d^3 log p / d theta_i^2 d theta_k is the second difference of
/// g_k along coordinate i, so that two gradients give a row.
Matrix log_width_changes(Evaluator& evaluator, const Gaussian& q, const std::vector<Index>& coordinates) {
  const Index m = q.dimension();
  const auto count = static_cast<Index>(coordinates.size());
  const Vector moves = kMoved * q.precision_diagonal().cwiseSqrt().cwiseInverse();
  const Vector sd = q.sd();
  Vector centre(m);
  if (!std::isfinite(evaluator.evaluate(q.mean(), centre))) return Matrix::Zero(count, m);
  Matrix out(count, m);
  for (Index first = 0; first < count; first += kMovedAtOnce) {
    const Index some = std::min(kMovedAtOnce, count - first);
    Matrix theta = q.mean().replicate(1, 2 * some);
    for (Index j = 0; j < some; ++j) {
      const Index i = coordinates[static_cast<std::size_t>(first + j)];
      theta(i, j) += moves(i);
      theta(i, some + j) -= moves(i);
    }
    Vector log_density(2 * some);
    Matrix gradient(m, 2 * some);
    evaluator.evaluate(theta, log_density, gradient);
    const Matrix second = gradient.leftCols(some) + gradient.rightCols(some) - 2 * centre.replicate(1, some);
    // Of the log of the curvature; half of that, with the other sign, is the log of the width.
    out.middleRows(first, some) = .5 / (kMoved * kMoved) * (second.transpose() * sd.asDiagonal());
    for (Index j = 0; j < some; ++j)
      if (!std::isfinite(log_density(j)) || !std::isfinite(log_density(some + j)))
        out.row(first + j).setZero();
  }
  return out;
}

std::vector<Index> looked_at(Index m) {
  const Index most = std::clamp<Index>(kMostEffectNumbers / m, 1, kMostEffects);
  const Index stride = (m + most - 1) / most;
  std::vector<Index> out;
  for (Index i = 0; i < m; i += stride) out.push_back(i);
  return out;
}

/// Rows of those that feel the parameter, those that feel it most first.
std::vector<Index> felt_by(const Matrix& changes, const std::vector<Index>& coordinates, Index parameter) {
  std::vector<Index> out;
  for (Index j = 0; j < changes.rows(); ++j)
    if (coordinates[static_cast<std::size_t>(j)] != parameter && std::abs(changes(j, parameter)) > kFelt)
      out.push_back(j);
  std::stable_sort(out.begin(), out.end(), [&](Index a, Index b) {
    return std::abs(changes(a, parameter)) > std::abs(changes(b, parameter));
  });
  return out;
}

/// Nothing where too few feel the parameter, or some widen and others narrow.
std::optional<Funnel> funnel_of(const Matrix& changes, const std::vector<Index>& coordinates,
                                Index parameter) {
  const std::vector<Index> felt = felt_by(changes, coordinates, parameter);
  const auto count = static_cast<Index>(felt.size());
  if (count < kFewestEffects) return std::nullopt;
  const auto widen =
      std::count_if(felt.begin(), felt.end(), [&](Index j) { return changes(j, parameter) > 0; });
  if (static_cast<double>(std::max<Index>(widen, count - widen)) <
      kSameDirection * static_cast<double>(count))
    return std::nullopt;
  Funnel out{parameter, {}, count, changes(felt[felt.size() / 2], parameter)};
  for (std::size_t k = 0; k < std::min(kNamedEffects, felt.size()); ++k)
    out.effects.push_back(coordinates[static_cast<std::size_t>(felt[k])]);
  return out;
}

/// Whether the library wrote the density, so that its user cannot write it in another form.
bool has_fixed_form(const Model& model) {
  return dynamic_cast<const Regression*>(&model) || dynamic_cast<const ClassRegression*>(&model) ||
         dynamic_cast<const MixedModel*>(&model);
}

}  // namespace

// A Gaussian whose log width is off by x loses x^2 nats: the sum of squares is what the parameter costs.
std::optional<Funnel> find_funnel(Evaluator& evaluator, const Gaussian& q) {
  const std::vector<Index> coordinates = looked_at(q.dimension());
  const Matrix changes = log_width_changes(evaluator, q, coordinates);
  Vector cost = changes.colwise().squaredNorm();
  for (std::size_t j = 0; j < coordinates.size(); ++j)
    cost(coordinates[j]) -= std::pow(changes(static_cast<Index>(j), coordinates[j]), 2);
  std::vector<Index> order(static_cast<std::size_t>(cost.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return cost(a) > cost(b); });
  for (const Index parameter : order) {
    if (!(cost(parameter) > kFewestEffects * kFelt * kFelt)) return std::nullopt;
    if (auto found = funnel_of(changes, coordinates, parameter)) return found;
  }
  return std::nullopt;
}

std::string describe(const Funnel& funnel, const Model& model) {
  std::vector<std::string> names;
  for (const Index i : funnel.effects) names.push_back(model.parameter_name(i));
  const auto others = funnel.count - static_cast<Index>(names.size());
  const std::string effects =
      fmt::format("{}{}", fmt::join(names, ", "), others > 0 ? fmt::format(" and {} more", others) : "");
  const std::string advice =
      has_fixed_form(model) ? "a stronger prior for it narrows the funnel"
      : funnel.centred()
          ? "if these are centred, that is if their prior has that scale, the program's non-centred form, "
            "the "
            "scale times standard normal parameters, may help"
          : "if these are non-centred, that is standard normal parameters times that scale, the program's "
            "centred form, effects whose prior has the scale, may help";
  return fmt::format(
      "{} decides how wide the posterior of {} is, by a factor {:.2g} for one sd of it: a funnel, "
      "which no Gaussian has; {}",
      model.parameter_name(funnel.neck), effects, std::exp(std::abs(funnel.widening)), advice);
}

}  // namespace magva
