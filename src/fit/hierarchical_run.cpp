// Hierarchical models, by their mass: a mean-field Gaussian shows where it is, and a mixture over the
// hyper-parameters what it looks like. Where the mixture's own draws leave no doubt about it there is nothing
// for a joint Gaussian to add.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "assess/pareto.hpp"
#include "core/elbo.hpp"
#include "fit/default_run.hpp"
#include "fit/runs.hpp"
#include "mixture/fit_mixture.hpp"

namespace magva {

namespace {

/// Another search ends elsewhere if a mean differs by so many sds, and its ELBO is lower by fewer nats.
constexpr double kMassApart = 3;
constexpr double kMassNats = 4;
/// Searches for mass elsewhere have this share of the gradients so far, and one search at least. Where the
/// ELBO is higher by kMassNats there, a mixture is found there, in so many places at most.
constexpr double kElsewhereShare = .1;
constexpr int kMassPlaces = 3;
/// Draws of a mean-field Gaussian, by which it is compared with places on the way to a mode.
constexpr Index kPlaceDraws = 100;
/// A part of a mixture is far from the posterior where the mean log weight of draws is below their median by
/// so many nats a parameter.
constexpr double kFarShare = .1;
/// Draws of the joint Gaussian, whose ELBO is below that of a mixture.
constexpr Index kAroundDraws = 400;

Vector log_weights(Evaluator& evaluator, const GaussianMixture& mixture, std::uint64_t seed) {
  const Matrix theta = mixture.draws(kAroundDraws, seed + 8);
  return evaluator.evaluate_values(theta) - mixture.log_density(theta);
}

/// What is known of a mixture whose weights say only that the posterior is not near it.
Assessment far_mixture(const Vector& weights) {
  Assessment out;
  out.elbo = weights.mean();
  out.elbo_se = std::sqrt((weights.array() - out.elbo).square().mean() / static_cast<double>(weights.size()));
  out.khat = smooth_weights(weights).khat;
  out.warn(WarningKind::kKhat,
           "importance weights of the mixture's draws vary so much that they say nothing of its means and "
           "sds");
  return out;
}

/// Means and sds may be those of chains: a mixture of which a part is far from the posterior is not to be
/// drawn from.
void distrust_far_part(Vector weights, FitResult& result) {
  const auto middle = weights.begin() + weights.size() / 2;
  std::nth_element(weights.begin(), middle, weights.end());
  const double below = *middle - weights.mean();
  if (!(below > kFarShare * static_cast<double>(result.posterior.dimension()))) return;
  result.trusted = false;
  result.warnings.push_back(
      {WarningKind::kFarFromGaussian,
       fmt::format("means and sds are those of short chains of Hamiltonian Monte Carlo, but a part of what "
                   "is drawn from the mixture is far from the posterior: the mean log weight of its draws "
                   "is {:.0f} nats below their median; sample this model by MCMC",
                   below)});
}

/// The largest distance of a mean, in sds of the mixture.
double apart(const GaussianMixture& mixture, const Vector& mean) {
  return (mean - mixture.mean()).cwiseQuotient(mixture.sd()).cwiseAbs().maxCoeff();
}

/// Whether a precision can be had as a matrix, which says more of where the mass is than the curvature at one
/// point does: that need not even be positive definite.
bool has_dense_precision(const Gaussian& q) {
  return q.is_sparse() && q.dimension() <= kDenseDimension && q.precision()->sums().cols() == 0;
}

Matrix as_matrix(const FactoredPrecision& precision) {
  const Index m = precision.dimension();
  return precision.times(Matrix::Identity(m, m));
}

}  // namespace

bool DefaultRun::fit_hierarchical() {
  if (model_.expectations() != nullptr || !may_return_mixture(model_, options_)) return false;
  control_.enter(Phase::kSearch);
  auto mass = fit_mean_field(evaluator_, search_.points.front(), options_.seed);
  if (!mass) return false;
  for (int place = 1;; ++place) {
    candidate_ = Candidate{
        {mass->mean, Vector::Zero(mass->mean.size()), mass->elbo}, std::nullopt, false, 0, nullptr, mass->sd};
    control_.enter(Phase::kShape);
    auto found = find_mixture(evaluator_, *mass, search_.pattern, options_);
    if (!found) {
      keep_place(*mass);
      return false;
    }
    std::optional<MeanField> other;
    if (is_without_doubt(*found) || settles_by_chains(*found)) {
      other = mass_elsewhere(*found, *mass);
      if (!other) {
        hierarchical_ = std::move(found);
        return true;
      }
    }
    by_chains_.reset();
    if (other && other->elbo > mass->elbo + kMassNats && place < kMassPlaces) {
      mass = std::move(other);
      continue;
    }
    keep_candidate(found->around);
    if (found->assessed) early_ = std::move(found);  // else the posterior is not near it
    return false;
  }
}

bool DefaultRun::is_without_doubt(const MixtureFound& found) {
  if (!found.assessed || !found.assessed->telling || !found.assessed->without_doubt()) return false;
  return found.weights || !below(found.assessed->assessment, found.around);
}

bool DefaultRun::settles_by_chains(const MixtureFound& found) {
  if (!found.mixture) return false;
  Vector weights;
  if (!found.assessed) weights = log_weights(evaluator_, *found.mixture, options_.seed);
  Assessment assessment = found.assessed ? found.assessed->assessment : far_mixture(weights);
  if (!std::isfinite(assessment.elbo)) return false;
  control_.enter(Phase::kAssessment);
  FitResult result = result_of(found, std::move(assessment),
                               "whose means and sds are those of short chains of Hamiltonian Monte Carlo");
  if (!settle_by_chains(evaluator_, options_, result)) return false;
  if (!found.assessed) distrust_far_part(std::move(weights), result);
  by_chains_ = std::move(result);
  return true;
}

std::optional<MeanField> DefaultRun::mass_elsewhere(const MixtureFound& found, const MeanField& first) {
  if (search_.points.size() < 2) return std::nullopt;
  std::vector<Vector> starts = {search_.points[1], -first.mean};  // signs and labels may be arbitrary
  starts.insert(starts.end(), search_.points.begin() + 2, search_.points.end());
  const std::int64_t most =
      static_cast<std::int64_t>((1 + kElsewhereShare) * static_cast<double>(evaluator_.evaluations()));
  std::optional<MeanField> best;
  for (const Vector& start : starts) {
    auto other = fit_mean_field(evaluator_, start, options_.seed);
    if (other && is_elsewhere(found, first, *other) && (!best || other->elbo > best->elbo))
      best = std::move(other);
    if (evaluator_.evaluations() > most) break;
  }
  return best;
}

bool DefaultRun::is_elsewhere(const MixtureFound& found, const MeanField& first, const MeanField& other) {
  if (other.elbo < first.elbo - kMassNats || apart(*found.mixture, other.mean) < kMassApart) return false;
  // A mean-field Gaussian may be held by narrow conditionals where there is little mass.
  const auto moved = hyper_mode_from(evaluator_, other, search_.pattern, found.hyper_parameters, options_);
  return !moved || apart(*found.mixture, moved->mean()) >= kMassApart;
}

// An ELBO prefers hyper-parameters whose others are nearest to a Gaussian to those with most mass; weights of
// the hyper-parameters alone do not.
bool DefaultRun::below(const Assessment& mixture, const Gaussian& joint) {
  const ElboEstimate estimate = estimate_elbo(evaluator_, joint, kAroundDraws, options_.seed);
  return mixture.elbo + 2 * std::hypot(mixture.elbo_se, estimate.se) < estimate.elbo;
}

// Its assessment is not in a checkpoint.
const MixtureFound* DefaultRun::early_mixture() {
  if (!early_) return nullptr;
  const Index entries =
      search_.pattern ? search_.pattern->entries() : full_pattern(model_.dimension())->entries();
  if (!early_->assessed)
    early_->assessed = assess_mixture(evaluator_, *early_->mixture, entries, early_->weights.get(), options_);
  return &*early_;
}

// Its own ELBO is that of the draws to which it was fitted.
void DefaultRun::keep_place(const MeanField& first) {
  const Index m = first.mean.size();
  PathPoint centre{first.mean, Vector(m), 0};
  centre.log_density = evaluator_.evaluate(centre.theta, centre.gradient);
  const Gaussian q = Gaussian::low_rank(first.mean, Matrix(m, 0), first.sd);
  const ElboEstimate estimate = estimate_elbo(evaluator_, q, kPlaceDraws, options_.seed);
  if (!std::isfinite(centre.log_density) || estimate.rejected > 0) return;
  search_.on_path = PathPlace{
      {std::move(centre), first.mean, estimate.elbo, first.sd}, -std::numeric_limits<double>::infinity(), 0};
}

void DefaultRun::keep_candidate(const Gaussian& around) {
  PathPoint centre{around.mean(), Vector(around.dimension()), 0};
  centre.log_density = evaluator_.evaluate(centre.theta, centre.gradient);
  if (!std::isfinite(centre.log_density)) return;
  std::optional<Candidate> candidate;
  if (has_dense_precision(around))
    candidate = Candidate{std::move(centre), as_matrix(*around.precision()), false, 0};
  else
    candidate = candidate_at(evaluator_, std::move(centre), search_.pattern.get());
  if (!candidate) return;
  candidate->has_mass = true;
  search_.found.candidates.push_back(std::move(*candidate));
}

FitResult DefaultRun::result_of(const MixtureFound& found, Assessment assessment, std::string_view why) {
  assessment.ending = {StopReason::kConverged, fmt::format("{}, {}", describe(found, model_), why), true,
                       false};
  FitResult result = assessed(found.around.with_shape(found.mixture), std::move(assessment));
  result.rank_path = {{model_.dimension(), std::numeric_limits<double>::quiet_NaN()}};
  result.shapes = {
      {found.mixture->shape(), result.elbo, result.elbo_se, result.trusted, result.doubts.size(), true}};
  result.gradient_evaluations = evaluator_.evaluations();
  return result;
}

FitResult DefaultRun::report_hierarchical() {
  FitResult result = by_chains_ ? std::move(*by_chains_)
                                : result_of(*hierarchical_, hierarchical_->assessed->assessment,
                                            describe_weights(*hierarchical_->assessed));
  result.gradient_evaluations = evaluations_;
  result.rejected_draws = rejected_;
  result.seconds = control_.seconds();
  return result;
}

}  // namespace magva
