#include "results/parameter_summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "posterior/normal_quantile.hpp"

namespace magva::results {

namespace {

/// The error of an sd from so many draws in antithetic pairs is .007 of it, and that of a mean less than .007
/// sds.
constexpr Index kMostDraws = 20'000;
constexpr Index kFewestDraws = 400;
constexpr Index kMostValues = 20'000'000;  // kept at a time: 160 MB

ParameterSummary exact(const std::string& name, double mean, double sd, double level) {
  const double z = normal_quantile(.5 * (1 + level));
  return {name, mean, sd, mean - z * sd, mean, mean + z * sd};
}

ParameterSummary from_draws(const std::string& name, std::vector<double> values, double level) {
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
  return {name,
          mean,
          sd,
          quantile(values, .5 * (1 - level)),
          quantile(values, .5),
          quantile(values, .5 * (1 + level))};
}

bool all_linear(const std::vector<source::Quantity>& quantities) {
  return std::all_of(quantities.begin(), quantities.end(), [](const auto& q) { return q.linear(); });
}

/// A linear combination of the coordinates of a Gaussian.
ParameterSummary combined(const source::Quantity& quantity, const Gaussian& posterior, double level) {
  double mean = 0, residual = 0;
  Vector factors = Vector::Zero(posterior.factors().cols());
  Vector weights = Vector::Zero(posterior.is_sparse() ? posterior.dimension() : 0);
  for (const auto& [i, weight] : quantity.combination) {
    mean += weight * posterior.mean()(i);
    if (posterior.is_sparse()) {
      weights(i) += weight;
      continue;
    }
    factors += weight * posterior.factors().row(i).transpose();
    if (!posterior.is_dense()) residual += std::pow(weight * posterior.residual_sd()(i), 2);
  }
  if (posterior.is_sparse())
    return exact(quantity.name, mean, std::sqrt(weights.dot(posterior.times(weights).col(0))), level);
  return exact(quantity.name, mean, std::sqrt(factors.squaredNorm() + residual), level);
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

namespace {

Matrix draw_quantities(const source::Reporter& reporter, const Posterior& posterior, std::uint64_t seed,
                       Index count) {
  const Index size = std::max({Index{1}, count, posterior.dimension()});
  const Index pairs = std::clamp(kMostValues / size, kFewestDraws, kMostDraws) / 2;
  return reporter.report(posterior.antithetic_draws(pairs, seed), seed);
}

}  // namespace

PosteriorSummary summarise(const source::Reporter& reporter, const Posterior& posterior, std::uint64_t seed,
                           double level) {
  const auto quantities = reporter.quantities();
  const auto* gaussian = dynamic_cast<const Gaussian*>(&posterior);
  const Vector sd = posterior.sd();
  PosteriorSummary out;
  Matrix values;
  if (gaussian == nullptr || !all_linear(quantities)) {
    const auto joint = gaussian != nullptr ? reporter.joint_draws(*gaussian) : nullptr;
    values = joint ? joint->values
                   : draw_quantities(reporter, posterior, seed, static_cast<Index>(quantities.size()));
    out.draws = values.cols();
    out.failed = (values.array() * 0).colwise().sum().isNaN().count();
  }
  for (std::size_t i = 0; i < quantities.size(); ++i) {
    const source::Quantity& quantity = quantities[i];
    if (gaussian == nullptr || !quantity.linear())
      out.parameters.push_back(from_draws(quantity.name, row(values, static_cast<Index>(i)), level));
    else
      out.parameters.push_back(
          quantity.coordinate
              ? exact(quantity.name, posterior.mean()(*quantity.coordinate), sd(*quantity.coordinate), level)
              : combined(quantity, *gaussian, level));
  }
  return out;
}

PosteriorSummary summarise(const source::Reporter& reporter, const Matrix& theta, std::uint64_t seed,
                           double level) {
  const Matrix values = reporter.report(theta, seed);
  PosteriorSummary out;
  out.draws = values.cols();
  out.failed = (values.array() * 0).colwise().sum().isNaN().count();
  const auto quantities = reporter.quantities();
  for (std::size_t i = 0; i < quantities.size(); ++i)
    out.parameters.push_back(from_draws(quantities[i].name, row(values, static_cast<Index>(i)), level));
  return out;
}

}  // namespace magva::results
