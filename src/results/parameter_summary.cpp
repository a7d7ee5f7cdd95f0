#include "results/parameter_summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "posterior/normal_quantile.hpp"

namespace magva::results {

namespace {

constexpr Index kMostValues = 20'000'000;  // kept at a time: 160 MB

/// As of sorted values, which takes far longer than the few quantiles that are wanted.
double quantile_of_unsorted(std::vector<double>& values, double probability) {
  const double position = probability * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(position);
  std::nth_element(values.begin(), below, values.end());
  const auto above = std::min_element(below + 1, values.end());
  const double share = position - std::floor(position);
  return above == values.end() ? *below : *below + share * (*above - *below);
}

/// What is known about one quantity: mean and sd of a Gaussian, or of one that is the quantity's logarithm,
/// or draws.
struct Marginal {
  double mean, sd;
  std::optional<std::vector<double>> draws = {};  ///< those that are finite; their order changes
  bool log_normal = false;                        ///< mean and sd are of the logarithm

  double quantile(double probability) {
    if (!draws) {
      const double at = mean + normal_quantile(probability) * sd;
      return log_normal ? std::exp(at) : at;
    }
    if (draws->empty()) return std::numeric_limits<double>::quiet_NaN();
    return quantile_of_unsorted(*draws, probability);
  }
  double quantity_mean() const { return log_normal ? std::exp(mean + .5 * sd * sd) : mean; }
  double quantity_sd() const { return log_normal ? quantity_mean() * std::sqrt(std::expm1(sd * sd)) : sd; }
};

Marginal from_draws(std::vector<double> values) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  if (values.empty()) return {nan, nan, std::move(values)};
  // Summed one by one: a vectorised sum's last bits depend on where the values lie in memory.
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, n > 1 ? std::sqrt(squares / (n - 1)) : 0, std::move(values)};
}

ParameterSummary summary_of(const std::string& name, Marginal marginal, double level) {
  return {name,
          marginal.quantity_mean(),
          marginal.quantity_sd(),
          marginal.quantile(.5 * (1 - level)),
          marginal.quantile(.5),
          marginal.quantile(.5 * (1 + level))};
}

bool all_exact(const std::vector<source::Quantity>& quantities) {
  return std::all_of(quantities.begin(), quantities.end(), [](const auto& q) { return q.exact(); });
}

/// A linear combination of the coordinates of a Gaussian.
Marginal combined(const source::Quantity& quantity, const Gaussian& posterior) {
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
  if (posterior.is_sparse()) return {mean, std::sqrt(weights.dot(posterior.times(weights).col(0)))};
  const double shared =
      posterior.is_spiked() ? factors.cwiseAbs2().dot(posterior.weights()) : factors.squaredNorm();
  return {mean, std::sqrt(shared + residual)};
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
                       Index count, Index most_draws) {
  const Index size = std::max({Index{1}, count, posterior.dimension()});
  const Index pairs = std::clamp(kMostValues / size, kHurriedSummaryDraws, most_draws) / 2;
  return reporter.report(posterior.antithetic_draws(pairs, seed), seed);
}

Index count_failed(const Matrix& values) { return (values.array() * 0).colwise().sum().isNaN().count(); }

/// The marginals of all quantities: of a Gaussian those of coordinates, their linear combinations and their
/// exponentials are exact, the others are of draws.
class Marginals {
 public:
  Marginals(const source::Reporter& reporter, const Posterior& posterior, std::uint64_t seed,
            Index most_draws)
      : quantities_(reporter.quantities()),
        posterior_(posterior),
        gaussian_(dynamic_cast<const Gaussian*>(&posterior)),
        sd_(posterior.sd()) {
    if (gaussian_ != nullptr && all_exact(quantities_)) return;
    const auto joint = gaussian_ != nullptr ? reporter.joint_draws(*gaussian_) : nullptr;
    draws_ = joint ? joint->values
                   : draw_quantities(reporter, posterior, seed, static_cast<Index>(quantities_.size()),
                                     most_draws);
  }

  const std::vector<source::Quantity>& quantities() const { return quantities_; }
  const Matrix& draws() const { return draws_; }

  Marginal operator[](std::size_t i) const {
    const source::Quantity& quantity = quantities_[i];
    if (gaussian_ == nullptr || !quantity.exact()) return from_draws(row(draws_, static_cast<Index>(i)));
    if (!quantity.combination.empty()) return combined(quantity, *gaussian_);
    const Index at = quantity.logarithm ? *quantity.logarithm : *quantity.coordinate;
    return {posterior_.mean()(at), sd_(at), std::nullopt, quantity.logarithm.has_value()};
  }

 private:
  std::vector<source::Quantity> quantities_;
  const Posterior& posterior_;
  const Gaussian* gaussian_;
  Vector sd_;
  Matrix draws_;  ///< one row per quantity; empty if all are exact
};

}  // namespace

PosteriorSummary summarise(const source::Reporter& reporter, const Posterior& posterior, std::uint64_t seed,
                           double level, Index most_draws) {
  const Marginals marginals(reporter, posterior, seed, most_draws);
  PosteriorSummary out;
  out.draws = marginals.draws().cols();
  out.failed = count_failed(marginals.draws());
  for (std::size_t i = 0; i < marginals.quantities().size(); ++i)
    out.parameters.push_back(summary_of(marginals.quantities()[i].name, marginals[i], level));
  return out;
}

Vector summarise_sds(const source::Reporter& reporter, const Posterior& posterior, std::uint64_t seed,
                     Index most_draws) {
  const Marginals marginals(reporter, posterior, seed, most_draws);
  Vector out(static_cast<Index>(marginals.quantities().size()));
  for (Index i = 0; i < out.size(); ++i) out(i) = marginals[static_cast<std::size_t>(i)].quantity_sd();
  return out;
}

PosteriorSummary summarise(const source::Reporter& reporter, const Matrix& theta, std::uint64_t seed,
                           double level) {
  const Matrix values = reporter.report(theta, seed);
  PosteriorSummary out;
  out.draws = values.cols();
  out.failed = count_failed(values);
  const auto quantities = reporter.quantities();
  for (std::size_t i = 0; i < quantities.size(); ++i)
    out.parameters.push_back(
        summary_of(quantities[i].name, from_draws(row(values, static_cast<Index>(i))), level));
  return out;
}

void take_estimate(ParameterSummary& parameter, double sd, double se, double level) {
  const double reach = normal_quantile(.5 * (1 + level)) * sd;
  parameter.sd = sd;
  parameter.sd_se = se;
  parameter.q05 = parameter.mean - reach;
  parameter.q95 = parameter.mean + reach;
}

Matrix quantiles(const source::Reporter& reporter, const Posterior& posterior, std::uint64_t seed,
                 const std::vector<double>& probabilities) {
  const Marginals marginals(reporter, posterior, seed, kSummaryDraws);
  Matrix out(static_cast<Index>(marginals.quantities().size()), static_cast<Index>(probabilities.size()));
  for (Index i = 0; i < out.rows(); ++i) {
    Marginal marginal = marginals[static_cast<std::size_t>(i)];
    for (Index k = 0; k < out.cols(); ++k)
      out(i, k) = marginal.quantile(probabilities[static_cast<std::size_t>(k)]);
  }
  return out;
}

}  // namespace magva::results
