// The posterior of the parameters that are left, by few evaluations: its mode, the curvature there, and
// importance weights, since standard deviations have skewed distributions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "assess/assess.hpp"
#include "assess/pareto.hpp"
#include "core/evaluator.hpp"
#include "fit/runs.hpp"
#include "magva/diagnostics.hpp"
#include "magva/error.hpp"
#include "magva/mixed.hpp"
#include "mixed/dense_mode.hpp"
#include "mixed/importance_sample.hpp"

namespace magva {

namespace {

/// Importance weights in more dimensions vary too much.
constexpr Index kMostDimensions = 64;
/// Proposals of a round: as many as take so many multiplications, within these limits.
constexpr double kWorkOfRound = 1e9;
constexpr Index kFewestProposals = 96;
constexpr Index kFewestPerDimension = 12;
constexpr Index kMostPerDimension = 48;
constexpr Index kMostProposals = 256;
/// Rounds end when k-hat and the share of draws that are effective are good; they must at last.
constexpr int kMostRounds = 6;
constexpr double kGoodShare = .4;
/// They go on until so many draws are effective, by which means are known to a twentieth of an sd (fewer do
/// in few dimensions, since draws are spread evenly), unless draws take more multiplications.
constexpr double kEnoughEffective = 400;
constexpr double kEnoughPerDimension = 60;
constexpr double kWorkOfSample = 8e9;
/// Diagnostic draws of fit(), if it comes to that.
constexpr double kWorkOfDraws = 4e9;

Index proposals(const MixedModel& model, double work, Index most) {
  const Index fewest = std::max(kFewestProposals, kFewestPerDimension * model.model().dimension());
  const auto affordable = static_cast<Index>(std::min(work / model.work(), 1e9));
  return std::clamp(affordable, fewest, std::max(fewest, most));
}

Index proposals_of_round(const MixedModel& model) {
  return proposals(model, kWorkOfRound,
                   std::min(kMostProposals, kMostPerDimension * model.model().dimension()));
}

bool good(const SmoothedWeights& weights, Index size) {
  return weights.khat <= kDoubtfulKhat && weights.effective >= kGoodShare * static_cast<double>(size);
}

bool enough(const SmoothedWeights& weights, Index size, const MixedModel& model) {
  const double wanted =
      std::min(kEnoughEffective, kEnoughPerDimension * static_cast<double>(model.model().dimension()));
  return good(weights, size) &&
         (weights.effective >= wanted || static_cast<double>(size) * model.work() >= kWorkOfSample);
}

/// A fit under way: what there is when it must end.
class WeightedFit {
 public:
  WeightedFit(const MixedModel& model, const FitOptions& options, const std::vector<Observer>& observers)
      : model_(model),
        options_(options),
        control_({.seconds = options.time_limit,
                  .evaluations = options.evaluation_limit(model.model().dimension())},
                 observers),
        evaluator_(model.model(), choose_threads(options.threads, model.model()), &control_),
        sample_(model, evaluator_.workers(), &control_) {}

  /// Unset if importance weights do not do for this posterior.
  std::optional<FitResult> run() {
    try {
      mode_ =
          mixed::find_dense_mode(evaluator_, options_.init.value_or(model_.model().start()), model_.units());
      around_ = mode_->gaussian();
      draw();
    } catch (const Stopped&) {
      return stopped();
    }
    if (!weights_ || weights_->khat > kDoubtfulKhat) return std::nullopt;
    return finished();
  }

  double seconds() const { return control_.seconds(); }
  /// Draws by these weights; unset if there are none to be trusted.
  std::optional<MixedResample> resample(Index draws) const {
    if (!weights_ || weights_->khat > kDoubtfulKhat) return std::nullopt;
    return MixedResample{sample_.resample(*weights_, draws, options_.seed), true, weights_->khat};
  }

 private:
  void draw() {
    control_.enter(Phase::kRefinement);
    const Index count = proposals_of_round(model_);
    for (int round = 0; round < kMostRounds; ++round) {
      sample_.add(*around_, count, options_.seed + static_cast<std::uint64_t>(round));
      weights_ = sample_.weights();
      const auto moments = weights_ ? sample_.moments(*weights_) : std::nullopt;
      if (!moments) return;
      around_ = *moments;
      control_.report(round + 1, sample_.elbo(*around_).value);
      // The first round proposes around the mode; the second around the mean, with the posterior's spread.
      if (round > 0 && enough(*weights_, sample_.size(), model_)) return;
    }
  }

  FitResult finished() {
    const auto elbo = sample_.elbo(*around_);
    Assessment assessment;
    assessment.ending = {
        StopReason::kConverged,
        fmt::format("{} draws around the mode, weighted by importance, are worth {:.0f} of the "
                    "posterior (k-hat {:.2f})",
                    sample_.size(), weights_->effective, weights_->khat),
        true, true};
    assessment.elbo = elbo.value;
    assessment.elbo_se = elbo.se;
    assessment.khat = weights_->khat;
    return completed(std::move(assessment));
  }

  /// Assessed in a hurry.
  FitResult stopped() {
    if (!around_) around_ = blind_gaussian();
    return completed(assess(evaluator_, *around_, {control_.reason(), control_.detail(), false, false},
                            {.draws = 100,
                             .seed = options_.seed,
                             .quantities = nullptr,
                             .estimate = std::nullopt,
                             .probe_tails = false}));
  }

  Gaussian blind_gaussian() const {
    const Vector start = options_.init.value_or(model_.model().start());
    return Gaussian::dense(start, Matrix((.1 * model_.units()).asDiagonal()));
  }

  FitResult completed(Assessment assessment) {
    FitResult result = assessed(*around_, std::move(assessment));
    result.iterations = mode_ ? mode_->iterations : 0;
    result.gradient_evaluations = control_.evaluations();
    result.rejected_draws = evaluator_.rejected();
    result.seconds = control_.seconds();
    return result;
  }

  const MixedModel& model_;
  const FitOptions& options_;
  Control control_;
  Evaluator evaluator_;
  mixed::ImportanceSample sample_;
  std::optional<mixed::DenseMode> mode_;
  std::optional<Gaussian> around_;
  std::optional<SmoothedWeights> weights_;
};

void check_options(const FitOptions& options, Index dimension) {
  const std::vector<std::string> faults = options.validate(dimension);
  if (!faults.empty()) throw UsageError(fmt::format("{}", fmt::join(faults, "; ")));
}

FitOptions engine_options(const MixedModel& model, FitOptions options) {
  options.rank = options.rank.value_or(model.model().dimension());
  options.diagnostic_draws =
      std::min(options.diagnostic_draws, proposals(model, kWorkOfDraws, options.diagnostic_draws));
  return options;
}

/// A result, and draws from its posterior if it has come with some.
struct FitWithDraws {
  FitResult fit;
  std::optional<MixedResample> draws;
};

FitWithDraws fit_with_draws(const MixedModel& model, Index draws, const FitOptions& options,
                            const std::vector<Observer>& observers) {
  FitOptions engine = engine_options(model, options);
  const Index m = model.model().dimension();
  if (!options.algorithm1 && !options.max_iterations && *engine.rank >= m && m <= kMostDimensions) {
    check_options(options, m);
    WeightedFit fit(model, options, observers);
    if (std::optional<FitResult> result = fit.run()) return {std::move(*result), fit.resample(draws)};
    engine.time_limit = std::max(1e-3, engine.time_limit - fit.seconds());
  }
  return {magva::fit(model.model(), engine, observers), std::nullopt};
}

}  // namespace

FitResult fit_groups(const MixedModel& model, const FitOptions& options,
                     const std::vector<Observer>& observers) {
  return fit_with_draws(model, 1, options, observers).fit;
}

MixedResample resample_mixed(const MixedModel& model, const Gaussian& posterior, Index draws,
                             std::uint64_t seed, int threads) {
  Workers workers(choose_threads(threads, model.model()));
  mixed::ImportanceSample sample(model, workers, nullptr);
  const Index count = proposals_of_round(model);
  Gaussian around = posterior;
  std::optional<SmoothedWeights> weights;
  for (int round = 0; round < kMostRounds; ++round) {
    sample.add(around, count, seed + static_cast<std::uint64_t>(round));
    weights = sample.weights();
    if (!weights || (round > 0 && enough(*weights, sample.size(), model))) break;
    const auto moments = sample.moments(*weights);
    if (!moments) break;
    around = *moments;
  }
  if (weights && weights->khat <= kDoubtfulKhat)
    return {sample.resample(*weights, draws, seed), true, weights->khat};
  return {posterior.draws(draws, seed), false,
          weights ? weights->khat : std::numeric_limits<double>::infinity()};
}

MixedPosterior fit_mixed(const MixedModel& model, Index draws, const FitOptions& options,
                         const std::vector<Observer>& observers) {
  FitWithDraws fitted = fit_with_draws(model, draws, options, observers);
  const FitResult& fit = fitted.fit;
  if (fit.stopped == StopReason::kTimeLimit || fit.stopped == StopReason::kInterrupted) {
    // Better draws would take longer than the fit was given.
    MixedResample own{fit.posterior.draws(draws, options.seed), false, fit.khat};
    std::string method =
        model.describe() + "; draws of these are the Gaussian's own, since the fit was stopped early";
    return {std::move(fitted.fit), std::move(own), std::move(method)};
  }
  MixedResample sample = fitted.draws
                             ? std::move(*fitted.draws)
                             : resample_mixed(model, fit.posterior, draws, options.seed, options.threads);
  std::string method = fmt::format(
      "{}; draws of these are {}", model.describe(),
      sample.resampled
          ? fmt::format("importance resampled (k-hat {:.2f})", sample.khat)
          : fmt::format("the Gaussian's own, since k-hat is {:.2f}, above {}", sample.khat, kDoubtfulKhat));
  return {std::move(fitted.fit), std::move(sample), std::move(method)};
}

}  // namespace magva
