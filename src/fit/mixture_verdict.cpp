#include "fit/mixture_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "assess/marginals.hpp"
#include "assess/moment_changes.hpp"
#include "assess/pareto.hpp"
#include "assess/reweighted.hpp"
#include "fit/runs.hpp"

namespace magva {

namespace {

/// Draws by which it is assessed: so many at first, and twice as many while they leave something open, up to
/// as many as for a Gaussian, or fewer where their log densities under all components would take more
/// numbers.
constexpr Index kFewestMixtureDraws = 500;
constexpr double kMostMixtureNumbers = 1.2e10;
/// So many times as many where what they show would mislead, and may be noise.
constexpr Index kMoreDraws = 4;
/// They leave nothing open where k-hat, known to .1 or so by the first of them, is below this, and where the
/// standard error of the ELBO is below this share of what is promised of it.
constexpr double kClearKhat = .5;
constexpr double kElboShare = .25;
/// Log weights with a larger sd than this, for every square root of a parameter, are those of a posterior
/// that is not near a Gaussian given the hyper-parameters, unless this share of the draws is effective.
constexpr double kFarSpread = .3;
constexpr double kNearShare = .2;
/// Share of draws at which the log density may not be finite.
constexpr double kRejectedShare = .01;
/// Weights tell where so many draws are effective.
constexpr double kTellingDraws = 400;
/// k-hat counts where less than this share of the draws is effective: else it is that of a tail that hardly
/// matters.
constexpr double kNearlyAll = .5;
/// A mean or sd that is off by more than kDoubt is in doubt; beyond this, of no use.
constexpr double kUselessMixture = .69;

/// Draws of a mixture, and what the posterior makes of them.
class WeightedDraws {
 public:
  WeightedDraws(Evaluator& evaluator, const GaussianMixture& mixture, HyperWeights* hyper,
                const FitOptions& options)
      : evaluator_(evaluator), mixture_(mixture), hyper_(hyper), options_(options) {}

  /// False where the posterior is not near the mixture.
  bool add_until(Index count) {
    const Matrix theta =
        mixture_.draws(count - drawn_, options_.seed + 8, static_cast<std::uint32_t>(drawn_));
    drawn_ = count;
    if (hyper_ == nullptr) {
      keep_finite(theta, weights_of_draws(theta));
      whole_ = log_weights_;
    } else {
      // The first draws say enough of the ELBO.
      if (whole_.size() == 0) whole_ = weights_of_draws(theta);
      keep_finite(theta, hyper_->log_weights(mixture_, theta));
    }
    const auto kept = static_cast<double>(log_weights_.size());
    if (kept < (1 - kRejectedShare) * static_cast<double>(count) || !whole_.allFinite()) return false;
    elbo_ = whole_.mean();
    spread_ = std::sqrt((whole_.array() - elbo_).square().sum() / static_cast<double>(whole_.size() - 1));
    smoothed_ = smooth_weights(log_weights_);
    return !far(theta.rows());
  }

  double elbo() const { return elbo_; }
  double elbo_se() const { return spread_ / std::sqrt(static_cast<double>(whole_.size())); }
  double khat() const { return smoothed_.khat; }
  bool telling() const {
    const bool nearly_all = smoothed_.effective > kNearlyAll * static_cast<double>(log_weights_.size());
    return (khat() <= kDoubtfulKhat || nearly_all) && smoothed_.effective >= kTellingDraws;
  }

  /// What the weights make of the quantities that will be read.
  MomentChanges changes() const { return moment_changes(values_, weights()); }
  /// Of the parameters themselves. Nothing where draws were left out.
  std::optional<MomentChanges> parameter_changes() const {
    if (log_weights_.size() < drawn_) return std::nullopt;
    return moment_changes(mixture_.draws(drawn_, options_.seed + 8), weights());
  }

 private:
  /// A few draws far out are no reason where many have weight.
  bool far(Index dimension) const {
    const auto kept = static_cast<double>(log_weights_.size());
    return spread_ > kFarSpread * std::sqrt(static_cast<double>(dimension)) &&
           smoothed_.effective < kNearShare * kept;
  }

  Vector weights_of_draws(const Matrix& theta) {
    return evaluator_.evaluate_values(theta) - mixture_.log_density(theta);
  }

  /// Of draws that are new, those that have weights.
  void keep_finite(const Matrix& theta, const Vector& log_weights) {
    std::vector<Index> finite;
    for (Index s = 0; s < log_weights.size(); ++s)
      if (std::isfinite(log_weights(s))) finite.push_back(s);
    const auto kept = static_cast<Index>(finite.size());
    const Matrix there = theta(Eigen::all, finite);
    const Matrix values = options_.quantities ? options_.quantities->at(there) : there;
    log_weights_.conservativeResize(log_weights_.size() + kept);
    log_weights_.tail(kept) = log_weights(finite);
    values_.conservativeResize(values.rows(), values_.cols() + kept);
    values_.rightCols(kept) = values;
  }

  /// Weights that sum to 1. In many dimensions, where small differences add up, a few draws have all of the
  /// weights' exponentials; to second order, 1 + l + l^2 / 2, they still say how means and sds change.
  Vector weights() const {
    if (telling() || hyper_ != nullptr) return smoothed_.log_weights.array().exp();
    const auto l = log_weights_.array() - elbo_;
    const Vector second_order = 1 + l + .5 * l.square();
    return second_order / second_order.sum();
  }

  Evaluator& evaluator_;
  const GaussianMixture& mixture_;
  HyperWeights* hyper_;
  const FitOptions& options_;
  Index drawn_ = 0;
  Matrix values_;       // of the quantities
  Vector log_weights_;  // of the draws, or of their hyper-parameters alone
  Vector whole_;        // of draws
  double elbo_ = 0, spread_ = 0;
  SmoothedWeights smoothed_;
};

/// The quantity that changes most, less so many standard errors; with a negative number of them, that may
/// change most for all that is known.
struct LargestChange {
  Index quantity = -1;
  double size = -std::numeric_limits<double>::infinity();
};

Reweighted change_of(const MomentChanges& changes, Index i) {
  return {"",
          changes.mean(i),
          changes.sd(i),
          changes.weighted_mean(i),
          changes.weighted_sd(i),
          changes.mean_se(i),
          changes.log_sd_se(i)};
}

LargestChange largest_change(const MomentChanges& changes, double standard_errors) {
  LargestChange out;
  for (Index i = 0; i < changes.mean.size(); ++i)
    if (const double size = change_of(changes, i).difference(standard_errors); size > out.size)
      out = {i, size};
  return out;
}

/// The quantity that changes most, of those whose change is more than so many standard errors.
LargestChange largest_of_real(const MomentChanges& changes, double standard_errors) {
  LargestChange out;
  for (Index i = 0; i < changes.mean.size(); ++i) {
    const Reweighted one = change_of(changes, i);
    if (one.difference(standard_errors) > 0 && one.difference() > out.size) out = {i, one.difference()};
  }
  return out;
}

std::string name_of(Index quantity, const Model& model, const FitOptions& options) {
  return options.quantities ? options.quantities->names[static_cast<std::size_t>(quantity)]
                            : model.parameter_name(quantity);
}

/// Among many quantities the largest error is the largest of as many normals.
double errors_among(Index quantities) {
  return std::max(2., std::sqrt(2 * std::log(static_cast<double>(quantities))));
}

Assessment assessment_of(const WeightedDraws& draws, const MomentChanges& changes, const Model& model,
                         const FitOptions& options) {
  Assessment out;
  out.elbo = draws.elbo();
  out.elbo_se = draws.elbo_se();
  out.khat = draws.khat();
  const double errors = errors_among(changes.mean.size());
  auto [i, size] = largest_change(changes, errors);
  if (!(size > kDoubt / 2)) {
    // Known less well, but more than noise, and of a size that misleads.
    const LargestChange seen = largest_of_real(changes, errors);
    if (!(seen.size > kDoubt)) return out;
    i = seen.quantity;
  }
  const std::string name = name_of(i, model, options);
  out.doubts.push_back({name, (changes.weighted_mean(i) - changes.mean(i)) / changes.sd(i),
                        changes.weighted_sd(i) / changes.sd(i)});
  out.warn(WarningKind::kReweighted,
           fmt::format("importance weights change {} from {:.3g} (sd {:.3g}) to {:.3g} (sd {:.3g}): the "
                       "mixture of Gaussians misses a part of the posterior; {}",
                       name, changes.mean(i), changes.sd(i), changes.weighted_mean(i), changes.weighted_sd(i),
                       draws.telling() ? "importance weights can correct this (--correct), or sample this "
                                         "model by MCMC"
                                       : "sample this model by MCMC"));
  out.trusted = size <= kUselessMixture;
  return out;
}

/// What the mixture's normals make of independent others, by their own integrals.
void doubt_others(const ConditionalGaussian& given, const Model& model, Assessment& out) {
  const Vector change = given.shift.cwiseAbs().cwiseMax(given.sd_ratio.array().log().abs().matrix());
  Index worst = 0;
  const double size = change.maxCoeff(&worst);
  if (!(size > kDoubt)) return;
  const std::string name = model.parameter_name(worst);
  out.doubts.push_back({name, given.shift(worst), given.sd_ratio(worst)});
  out.warn(WarningKind::kReweighted,
           fmt::format("given the hyper-parameters, the mean of {} is {:.2g} sds from that of its normal "
                       "distribution, and its sd {:.2g} times as large: the mixture of Gaussians misses a "
                       "part of the posterior; sample this model by MCMC",
                       name, given.shift(worst), given.sd_ratio(worst)));
  if (size > kUselessMixture) out.trusted = false;
}

/// The parameter behind a doubt.
std::optional<Index> most_changed(const WeightedDraws& draws) {
  const auto changes = draws.parameter_changes();
  if (!changes) return std::nullopt;
  return largest_change(*changes, errors_among(changes->mean.size())).quantity;
}

/// More draws would not change the verdict.
bool nothing_open(const WeightedDraws& draws, const MomentChanges& changes, Index dimension) {
  return draws.telling() && draws.khat() < kClearKhat &&
         draws.elbo_se() < kElboShare * promised_nats(dimension) &&
         largest_change(changes, -errors_among(changes.mean.size())).size < kDoubt / 2;
}

/// A change that would mislead, if it is one.
bool undecided(const WeightedDraws& draws, const MomentChanges& changes) {
  return draws.telling() && largest_change(changes, 0).size > kDoubt &&
         largest_change(changes, errors_among(changes.mean.size())).size < kDoubt / 2;
}

/// No change is as large as a doubt, not even by chance, and the weights know of all that there is.
bool decided(const WeightedDraws& draws, const MomentChanges& changes) {
  return draws.telling() && draws.khat() < kClearKhat && largest_change(changes, 0).size < kDoubt;
}

}  // namespace

std::optional<AssessedMixture> assess_mixture(Evaluator& evaluator, const GaussianMixture& mixture,
                                              Index entries, HyperWeights* hyper, const FitOptions& options) {
  const double numbers = static_cast<double>(entries) * static_cast<double>(mixture.components().size());
  // Weights of a few hyper-parameters vary little.
  const Index usual = hyper != nullptr ? kFewestMixtureDraws : options.diagnostic_draws;
  const Index most = std::clamp(static_cast<Index>(kMostMixtureNumbers / numbers), kFewestMixtureDraws,
                                std::max(kFewestMixtureDraws, usual));
  WeightedDraws draws(evaluator, mixture, hyper, options);
  for (Index count = kFewestMixtureDraws;; count = count < most ? std::min(2 * count, most) : 2 * count) {
    if (!draws.add_until(count)) return std::nullopt;
    const MomentChanges changes = draws.changes();
    const bool open = count < most ? !nothing_open(draws, changes, mixture.dimension())
                                   : count < kMoreDraws * most && undecided(draws, changes);
    if (open) continue;
    Assessment found = assessment_of(draws, changes, evaluator.model(), options);
    if (hyper != nullptr) doubt_others(hyper->middle(), evaluator.model(), found);
    const auto doubtful = found.doubts.empty() ? std::nullopt : most_changed(draws);
    return AssessedMixture{std::move(found), draws.telling(), decided(draws, changes), doubtful};
  }
}

}  // namespace magva
