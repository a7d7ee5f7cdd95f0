#include "results/parameter_summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace magva::results {

namespace {

constexpr double kNormal95 = 1.6448536269514722;  // the standard normal quantile of .95
constexpr Index kMostDraws = 4000;
constexpr Index kFewestDraws = 400;
constexpr Index kMostValues = 20'000'000;  // kept at a time: 160 MB

ParameterSummary exact(const std::string& name, double mean, double sd) {
  return {name, mean, sd, mean - kNormal95 * sd, mean, mean + kNormal95 * sd};
}

ParameterSummary from_draws(const std::string& name, std::vector<double> values) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  if (values.empty()) return {name, nan, nan, nan, nan, nan};
  std::sort(values.begin(), values.end());
  // Summed one by one: a vectorised sum's last bits depend on where the values lie in memory.
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double sd = n > 1 ? std::sqrt(squares / (n - 1)) : 0;
  return {name, mean, sd, quantile(values, .05), quantile(values, .5), quantile(values, .95)};
}

bool all_linear(const std::vector<source::Quantity>& quantities) {
  return std::all_of(quantities.begin(), quantities.end(), [](const auto& q) { return q.linear(); });
}

/// A linear combination of the coordinates of a Gaussian.
ParameterSummary combined(const source::Quantity& quantity, const Gaussian& posterior) {
  double mean = 0, residual = 0;
  Vector factors = Vector::Zero(posterior.factors().cols());
  for (const auto& [i, weight] : quantity.combination) {
    mean += weight * posterior.mean()(i);
    factors += weight * posterior.factors().row(i).transpose();
    if (!posterior.is_dense()) residual += std::pow(weight * posterior.residual_sd()(i), 2);
  }
  return exact(quantity.name, mean, std::sqrt(factors.squaredNorm() + residual));
}

std::vector<double> row(const Matrix& values, Index i) {
  std::vector<double> out(static_cast<std::size_t>(values.cols()));
  for (Index s = 0; s < values.cols(); ++s) out[static_cast<std::size_t>(s)] = values(i, s);
  return out;
}

}  // namespace

double quantile(const std::vector<double>& sorted, double probability) {
  const double position = probability * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = position - static_cast<double>(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

PosteriorSummary summarise(const source::ModelSource& source, const Gaussian& posterior, std::uint64_t seed) {
  const auto quantities = source.reporter->quantities();
  const Vector sd = posterior.sd();
  PosteriorSummary out;
  Matrix values;
  if (!all_linear(quantities)) {
    const auto count = static_cast<Index>(quantities.size());
    out.draws = std::clamp(kMostValues / std::max<Index>(1, count), kFewestDraws, kMostDraws);
    const Matrix theta = posterior.draws(out.draws, seed);
    values = source.reporter->report(theta, seed);
    out.failed = (values.array() * 0).colwise().sum().isNaN().count();
  }
  for (std::size_t i = 0; i < quantities.size(); ++i) {
    const source::Quantity& quantity = quantities[i];
    out.parameters.push_back(
        quantity.coordinate
            ? exact(quantity.name, posterior.mean()(*quantity.coordinate), sd(*quantity.coordinate))
        : quantity.linear() ? combined(quantity, posterior)
                            : from_draws(quantity.name, row(values, static_cast<Index>(i))));
  }
  return out;
}

}  // namespace magva::results
