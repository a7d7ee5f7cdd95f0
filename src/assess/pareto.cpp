#include "assess/pareto.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "magva/error.hpp"

namespace magva {

namespace {
constexpr Index kFewestTail = 5;    // below it no tail can be fitted
constexpr double kPriorDraws = 10;  // weight of the prior on the shape, in draws
constexpr double kPriorShape = .5;

double log_sum_exp(ConstVectorRef x) {
  const double top = x.maxCoeff();
  return top + std::log((x.array() - top).exp().sum());
}

Index tail_length(Index draws) {
  return static_cast<Index>(
      std::ceil(std::min(.2 * static_cast<double>(draws), 3 * std::sqrt(static_cast<double>(draws)))));
}

/// The mean of log(1 + factor x_i) over ascending x: one logarithm for eight values, unless their product
/// could leave the range of a double.
double mean_log_of_one_plus(double factor, ConstVectorRef x) {
  const Index n = x.size();
  const Index at_once = std::abs(factor) * x(n - 1) < 1e35 ? 8 : 1;
  double sum = 0;
  for (Index i = 0; i < n; i += at_once)
    sum += std::log((1 + factor * x.segment(i, std::min(at_once, n - i)).array()).prod());
  return sum / static_cast<double>(n);
}

/// The largest `tail` weights after the largest of the others, ascending; of equal ones the later draw.
std::vector<Index> largest(ConstVectorRef log_weights, Index tail) {
  // Values alone are partitioned faster than places by their values.
  std::vector<double> values(log_weights.begin(), log_weights.end());
  const auto least = values.end() - (tail + 1);
  std::nth_element(values.begin(), least, values.end());
  const double cut = *least;
  auto equal = std::count(least, values.end(), cut);  // of these the last ones count
  std::vector<std::pair<double, Index>> found;
  found.reserve(static_cast<std::size_t>(tail + 1));
  for (Index i = log_weights.size() - 1; i >= 0; --i)
    if (log_weights(i) > cut || (log_weights(i) == cut && equal-- > 0)) found.emplace_back(log_weights(i), i);
  std::sort(found.begin(), found.end());
  std::vector<Index> order;
  order.reserve(found.size());
  for (const auto& [value, i] : found) order.push_back(i);
  return order;
}

double pareto_quantile(const ParetoFit& fit, double p) {
  if (std::abs(fit.shape) < 1e-12) return -fit.scale * std::log1p(-p);
  return fit.scale * std::expm1(-fit.shape * std::log1p(-p)) / fit.shape;
}
}  // namespace

ParetoFit fit_pareto(ConstVectorRef x) {
  const Index n = x.size();
  const auto count = static_cast<double>(n);
  const auto grid = 30 + static_cast<Index>(std::sqrt(count));
  const double quartile = x(static_cast<Index>(count / 4 + .5) - 1);
  Vector theta(grid);
  Vector profile(grid);
  for (Index j = 0; j < grid; ++j) {
    const double position = std::sqrt(static_cast<double>(grid) / (static_cast<double>(j) + .5));
    theta(j) = 1 / x(n - 1) + (1 - position) / (3 * quartile);
    const double k = -mean_log_of_one_plus(-theta(j), x);
    profile(j) = count * (std::log(theta(j) / k) + k - 1);
  }
  const Vector weight = (profile.array() - log_sum_exp(profile)).exp();
  const double mean = weight.dot(theta);
  const double k = -mean_log_of_one_plus(-mean, x);
  // In Zhang and Stephens' sign k is minus the shape.
  const double shape = -k;
  return {(shape * count + kPriorDraws * kPriorShape) / (count + kPriorDraws), shape / -mean};
}

namespace {

/// Replaces the tail of relative log weights by the quantiles of its Pareto distribution; k-hat.
double smooth_tail(Vector& log_weights, Index tail) {
  const std::vector<Index> order = largest(log_weights, tail);
  const double cut = std::exp(log_weights(order[0]));
  Vector excess(tail);
  for (Index i = 0; i < tail; ++i)
    excess(i) = std::exp(log_weights(order[static_cast<std::size_t>(i + 1)])) - cut;
  if (excess(tail - 1) <= 1e-12)
    return -std::numeric_limits<double>::infinity();  // equal weights: q is the posterior
  if (!(excess(static_cast<Index>(static_cast<double>(tail) / 4 + .5) - 1) > 0))
    return std::numeric_limits<double>::infinity();
  const ParetoFit fit = fit_pareto(excess);
  if (!std::isfinite(fit.shape) || !std::isfinite(fit.scale)) return fit.shape;
  for (Index i = 0; i < tail; ++i) {
    const double p = (static_cast<double>(i) + .5) / static_cast<double>(tail);
    log_weights(order[static_cast<std::size_t>(i + 1)]) =
        std::min(0., std::log(cut + pareto_quantile(fit, p)));
  }
  return fit.shape;
}

}  // namespace

SmoothedWeights smooth_weights(ConstVectorRef log_weights) {
  const Index n = log_weights.size();
  SmoothedWeights out{log_weights, std::numeric_limits<double>::infinity(), 1};
  if (n == 0 || !(log_weights.maxCoeff() > -std::numeric_limits<double>::infinity()))
    throw DataError("no draw has a finite importance weight");
  out.log_weights.array() -= log_weights.maxCoeff();
  const Index tail = tail_length(n);
  if (tail >= kFewestTail && tail < n) out.khat = smooth_tail(out.log_weights, tail);
  out.log_weights.array() -= log_sum_exp(out.log_weights);
  out.effective = 1 / (2 * out.log_weights.array()).exp().sum();
  return out;
}

double pareto_khat(ConstVectorRef log_weights) { return smooth_weights(log_weights).khat; }

std::string describe_khat(double khat) {
  if (khat < .5) return "good: the approximation covers the posterior, and importance weights can correct it";
  if (khat < .7) return "usable: importance weights can correct it, with more draws";
  if (khat <= 1)
    return "doubtful: the posterior has more in its tails than the approximation, whose means and sds may be "
           "off";
  return "poor: the posterior is not near the approximation somewhere in its space; check what matters by "
         "other "
         "means";
}

}  // namespace magva
