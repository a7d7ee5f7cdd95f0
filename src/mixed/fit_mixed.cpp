// The posterior of the parameters that are left: a full-rank Gaussian, and draws that importance resampling
// has brought nearer to the posterior, whose standard deviations have skewed distributions.
#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "assess/pareto.hpp"
#include "core/evaluator.hpp"
#include "core/noise.hpp"
#include "magva/diagnostics.hpp"
#include "magva/mixed.hpp"

namespace magva {

namespace {

/// Draws are proposed from a t distribution with the Gaussian's mean and scale, so that weights stay bounded
/// where the posterior has heavier tails than a Gaussian, as that of a log sd near zero has.
constexpr int kDegreesOfFreedom = 5;
/// While k-hat is above kGoodKhat, proposals move to where the weights of the last round are: at most so many
/// rounds.
constexpr int kRounds = 3;
constexpr double kGoodKhat = .5;
/// Proposals per draw returned, if the model is cheap; and what else limits them.
constexpr Index kProposalsPerDraw = 4;
constexpr double kMostWork = 4e9;
constexpr Index kFewestProposals = 100;
/// An evaluation with more multiplications is dear: then the fit ends after a few iterations from one start,
/// which bring its Gaussian near enough for importance weights to do the rest.
constexpr double kDearWork = 3e6;
constexpr std::int64_t kFewIterations = 4;

struct Proposals {
  Matrix theta;
  Vector log_density;  // of the t distribution
};

Proposals propose(const Gaussian& q, Index count, std::uint64_t seed) {
  const Index m = q.dimension();
  Matrix noise(m + kDegreesOfFreedom, count);
  Noise(seed, NoiseStream::kRandomPoint).fill(1, 0, noise);
  // A full-rank Gaussian's factor, or one of the same covariance.
  Matrix factor = q.factors();
  Vector residual = q.is_dense() ? Vector(Vector::Zero(m)) : q.residual_sd();
  Matrix second(residual.size(), count);
  Noise(seed, NoiseStream::kRandomPoint).fill(2, 0, second);
  Proposals out{Matrix(m, count), Vector(count)};
  const double nu = kDegreesOfFreedom, d = static_cast<double>(m);
  for (Index s = 0; s < count; ++s) {
    const double stretch = std::sqrt(nu / noise.col(s).tail(kDegreesOfFreedom).squaredNorm());
    out.theta.col(s) = q.mean() + stretch * (factor * noise.col(s).head(factor.cols()) +
                                             residual.cwiseProduct(second.col(s)));
  }
  for (Index s = 0; s < count; ++s) {
    // The Gaussian's log density gives the distance from its mean.
    const Vector delta = out.theta.col(s) - q.mean();
    const double distance = delta.dot(Vector(q.solve(delta)));
    out.log_density(s) = -.5 * (nu + d) * std::log1p(distance / nu);
  }
  return out;
}

// Systematic resampling: a draw comes as often as its weight says, give or take one.
std::vector<Index> resample(const Vector& log_weights, Index count, std::uint64_t seed) {
  Matrix normal(1, 1);
  Noise(seed, NoiseStream::kRandomPoint).fill(3, 0, normal);
  const double shift = .5 * std::erfc(-normal(0, 0) / std::sqrt(2.0));
  std::vector<Index> chosen;
  double sum = 0;
  Index at = 0;
  for (Index k = 0; k < count; ++k) {
    const double target = (static_cast<double>(k) + shift) / static_cast<double>(count);
    while (at < log_weights.size() - 1 && sum + std::exp(log_weights(at)) < target)
      sum += std::exp(log_weights(at++));
    chosen.push_back(at);
  }
  return chosen;
}

// The mean and covariance that weights give, from which the next round proposes; nothing if they rest on too
// few draws.
std::optional<Gaussian> weighted_gaussian(const Matrix& theta, const SmoothedWeights& weights) {
  if (weights.effective < 10 * static_cast<double>(theta.rows())) return std::nullopt;
  const Vector share = weights.log_weights.array().exp();
  const Vector mean = theta * share;
  const Matrix centred = theta.colwise() - mean;
  const Eigen::LLT<Matrix> llt(centred * share.asDiagonal() * centred.transpose());
  if (llt.info() != Eigen::Success) return std::nullopt;
  return Gaussian::dense(mean, llt.matrixL());
}

Index proposal_count(const MixedModel& model, Index draws) {
  const auto affordable = static_cast<Index>(std::min(kMostWork / model.work(), 1e9));
  return std::clamp(affordable, std::min(kFewestProposals, kProposalsPerDraw * draws),
                    kProposalsPerDraw * draws);
}

}  // namespace

FitOptions mixed_fit_options(const MixedModel& model, FitOptions options) {
  options.rank = options.rank.value_or(model.model().dimension());
  options.diagnostic_draws =
      std::min(options.diagnostic_draws, proposal_count(model, options.diagnostic_draws));
  return options;
}

MixedResample resample_mixed(const MixedModel& model, const Gaussian& posterior, Index draws,
                             std::uint64_t seed, int threads) {
  Gaussian centre = posterior;
  double khat = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    const Proposals proposals =
        propose(centre, proposal_count(model, draws), seed + static_cast<std::uint64_t>(round));
    Vector log_weights = log_densities(model.model(), proposals.theta, threads) - proposals.log_density;
    for (double& weight : log_weights)
      if (!std::isfinite(weight)) weight = -std::numeric_limits<double>::infinity();
    if (!(log_weights.maxCoeff() > -std::numeric_limits<double>::infinity())) break;
    const SmoothedWeights weights = smooth_weights(log_weights);
    khat = weights.khat;
    const bool content = round + 1 == kRounds || model.work() > kDearWork;
    if (khat <= (content ? kDoubtfulKhat : kGoodKhat))
      return {proposals.theta(Eigen::all, resample(weights.log_weights, draws, seed)), true, khat};
    const std::optional<Gaussian> moved = weighted_gaussian(proposals.theta, weights);
    if (!moved) break;
    centre = *moved;
  }
  return {posterior.draws(draws, seed), false, khat};
}

FitResult fit_groups(const MixedModel& model, const FitOptions& options,
                     const std::vector<Observer>& observers) {
  FitOptions chosen = mixed_fit_options(model, options);
  const bool brief = model.work() > kDearWork && !options.max_iterations && !options.algorithm1;
  if (brief) {
    chosen.starts = 1;
    chosen.max_iterations = kFewIterations;
  }
  FitResult result = magva::fit(model.model(), chosen, observers);
  const bool as_planned =
      brief && result.stopped == StopReason::kIterationLimit && result.khat <= kDoubtfulKhat;
  if (!as_planned) return result;
  // What was cut short on purpose is made up for by importance weights, whose verdict is k-hat.
  result.stopped = StopReason::kConverged;
  result.stop_detail =
      fmt::format("{} iterations were enough for importance weights to correct the rest (k-hat {:.2f})",
                  kFewIterations, result.khat);
  std::erase_if(result.warnings,
                [](const Warning& warning) { return warning.kind == WarningKind::kNotConverged; });
  const auto harmful = [](const Warning& warning) { return warning.kind != WarningKind::kKhat; };
  result.trusted = std::none_of(result.warnings.begin(), result.warnings.end(), harmful);
  return result;
}

MixedPosterior fit_mixed(const MixedModel& model, Index draws, const FitOptions& options,
                         const std::vector<Observer>& observers) {
  FitResult fit = fit_groups(model, options, observers);
  MixedResample sample = resample_mixed(model, fit.posterior, draws, options.seed, options.threads);
  std::string method = fmt::format(
      "{}; draws of these are {}", model.describe(),
      sample.resampled
          ? fmt::format("importance resampled (k-hat {:.2f})", sample.khat)
          : fmt::format("the Gaussian's own, since k-hat is {:.2f}, above {}", sample.khat, kDoubtfulKhat));
  return {std::move(fit), std::move(sample), std::move(method)};
}

}  // namespace magva
