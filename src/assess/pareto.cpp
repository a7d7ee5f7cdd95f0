#include "assess/pareto.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
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
    const double k = -(-theta(j) * x.array()).log1p().mean();
    profile(j) = count * (std::log(theta(j) / k) + k - 1);
  }
  const Vector weight = (profile.array() - log_sum_exp(profile)).exp();
  const double mean = weight.dot(theta);
  const double k = -(-mean * x.array()).log1p().mean();
  // In Zhang and Stephens' sign k is minus the shape.
  const double shape = -k;
  return {(shape * count + kPriorDraws * kPriorShape) / (count + kPriorDraws), shape / -mean};
}

SmoothedWeights smooth_weights(ConstVectorRef log_weights) {
  const Index n = log_weights.size();
  SmoothedWeights out{log_weights, std::numeric_limits<double>::infinity(), 1};
  if (n == 0 || !(log_weights.maxCoeff() > -std::numeric_limits<double>::infinity()))
    throw DataError("no draw has a finite importance weight");
  out.log_weights.array() -= log_weights.maxCoeff();
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return log_weights(a) < log_weights(b); });
  const Index tail = tail_length(n);
  if (tail >= kFewestTail && tail < n) {
    const double cut = std::exp(out.log_weights(order[static_cast<std::size_t>(n - tail - 1)]));
    Vector excess(tail);
    for (Index i = 0; i < tail; ++i)
      excess(i) = std::exp(out.log_weights(order[static_cast<std::size_t>(n - tail + i)])) - cut;
    if (excess(tail - 1) <= 1e-12) {
      out.khat = -std::numeric_limits<double>::infinity();  // equal weights: q is the posterior
    } else if (excess(static_cast<Index>(static_cast<double>(tail) / 4 + .5) - 1) > 0) {
      const ParetoFit fit = fit_pareto(excess);
      out.khat = fit.shape;
      if (std::isfinite(fit.shape) && std::isfinite(fit.scale))
        for (Index i = 0; i < tail; ++i) {
          const double p = (static_cast<double>(i) + .5) / static_cast<double>(tail);
          const double smoothed = std::min(0., std::log(cut + pareto_quantile(fit, p)));
          out.log_weights(order[static_cast<std::size_t>(n - tail + i)]) = smoothed;
        }
    }
  }
  out.log_weights.array() -= log_sum_exp(out.log_weights);
  out.effective = 1 / (2 * out.log_weights.array()).exp().sum();
  return out;
}

double pareto_khat(ConstVectorRef log_weights) { return smooth_weights(log_weights).khat; }

std::string describe_khat(double khat) {
  if (khat < .5) return "good: the Gaussian covers the posterior, and importance weights can correct it";
  if (khat < .7) return "usable: importance weights can correct the Gaussian, with more draws";
  if (khat <= 1)
    return "doubtful: the posterior has more in its tails than the Gaussian; its means and sds may be off";
  return "poor: the posterior is not near this Gaussian somewhere in its space; check what matters by other "
         "means";
}

}  // namespace magva
