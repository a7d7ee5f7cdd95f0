#include "fit/mixture_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "assess/marginals.hpp"
#include "assess/pareto.hpp"
#include "assess/reweighted.hpp"

namespace magva {

namespace {

/// Draws by which it is judged: as many as the Gaussian is, fewer where their log densities under all
/// components would take more numbers.
constexpr Index kFewestMixtureDraws = 500;
constexpr double kMostMixtureNumbers = 3e9;
/// Log weights with a larger sd than this, for every square root of a parameter, are those of a posterior
/// that is not near a Gaussian given the hyper-parameters.
constexpr double kFarSpread = .3;
/// Share of draws at which the log density may not be finite.
constexpr double kRejectedShare = .01;
/// Weights tell where so many draws are effective.
constexpr double kTellingDraws = 400;
/// A mean or sd that is off by more than kDoubt is in doubt; beyond this, of no use.
constexpr double kUselessMixture = .69;

/// Draws of a mixture, and what the posterior makes of them.
struct WeightedDraws {
  Matrix theta;
  Vector log_weights;
  double elbo, se;
  SmoothedWeights smoothed;

  bool telling() const { return smoothed.khat <= kDoubtfulKhat && smoothed.effective >= kTellingDraws; }

  /// Weights that sum to 1. In many dimensions, where small differences add up, a few draws have all of the
  /// weights' exponentials; to second order, 1 + l + l^2 / 2, they still say how means and sds change.
  Vector weights() const {
    if (telling()) return smoothed.log_weights.array().exp();
    const auto l = log_weights.array() - elbo;
    const Vector second_order = 1 + l + .5 * l.square();
    return second_order / second_order.sum();
  }
};

std::optional<WeightedDraws> weighted_draws(Evaluator& evaluator, const GaussianMixture& mixture,
                                            Index entries, const FitOptions& options) {
  const double numbers = static_cast<double>(entries) * static_cast<double>(mixture.components().size());
  const Index count = std::clamp(static_cast<Index>(kMostMixtureNumbers / numbers), kFewestMixtureDraws,
                                 std::max(kFewestMixtureDraws, options.diagnostic_draws));
  Matrix theta = mixture.draws(count, options.seed + 8);
  Vector log_weights = evaluator.evaluate_values(theta) - mixture.log_density(theta);
  std::vector<Index> finite;
  for (Index s = 0; s < count; ++s)
    if (std::isfinite(log_weights(s))) finite.push_back(s);
  const auto kept = static_cast<double>(finite.size());
  if (kept < (1 - kRejectedShare) * static_cast<double>(count)) return std::nullopt;
  theta = Matrix(theta(Eigen::all, finite));
  log_weights = Vector(log_weights(finite));
  const double elbo = log_weights.mean();
  const double spread = std::sqrt((log_weights.array() - elbo).square().sum() / (kept - 1));
  if (spread > kFarSpread * std::sqrt(static_cast<double>(theta.rows()))) return std::nullopt;
  SmoothedWeights smoothed = smooth_weights(log_weights);
  return WeightedDraws{std::move(theta), std::move(log_weights), elbo, spread / std::sqrt(kept),
                       std::move(smoothed)};
}

/// By what the weights make of the quantities that will be read.
Assessment assessment_of(const WeightedDraws& draws, const Model& model, const FitOptions& options) {
  Assessment out;
  out.elbo = draws.elbo;
  out.elbo_se = draws.se;
  out.khat = draws.smoothed.khat;
  std::vector<std::string> names;
  if (options.quantities)
    names = options.quantities->names;
  else
    for (Index i = 0; i < model.dimension(); ++i) names.push_back(model.parameter_name(i));
  // Among many the largest of as many normals.
  const double errors = std::max(2., std::sqrt(2 * std::log(static_cast<double>(names.size()))));
  const auto moved = most_reweighted(
      names, options.quantities ? options.quantities->at(draws.theta) : draws.theta, draws.weights(), errors);
  if (!moved || !(moved->difference(errors) > kDoubt / 2)) return out;
  out.doubts.push_back(
      {moved->name, (moved->weighted_mean - moved->mean) / moved->sd, moved->weighted_sd / moved->sd});
  out.warn(WarningKind::kReweighted,
           fmt::format("importance weights change {} from {:.3g} (sd {:.3g}) to {:.3g} (sd {:.3g}): the "
                       "mixture of Gaussians misses a part of the posterior; {}",
                       moved->name, moved->mean, moved->sd, moved->weighted_mean, moved->weighted_sd,
                       draws.telling() ? "importance weights can correct this (--correct), or sample this "
                                         "model by MCMC"
                                       : "sample this model by MCMC"));
  out.trusted = moved->difference(errors) <= kUselessMixture;
  return out;
}

}  // namespace

std::optional<AssessedMixture> assess_mixture(Evaluator& evaluator, const GaussianMixture& mixture,
                                              Index entries, const FitOptions& options) {
  const auto draws = weighted_draws(evaluator, mixture, entries, options);
  if (!draws) return std::nullopt;
  return AssessedMixture{assessment_of(*draws, evaluator.model(), options), draws->telling()};
}

}  // namespace magva
