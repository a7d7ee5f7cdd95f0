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
/// In so many rounds proposals move to the posterior, unless k-hat and the share of draws that are effective
/// are good before.
constexpr int kMovingRounds = 6;
constexpr double kGoodShare = .4;
/// What a Gaussian posterior has, roughly: proposals have heavier tails.
constexpr double kGaussianShare = .7;
/// Rounds go on until so many draws are effective, by which means are known to a twentieth of an sd and
/// better (fewer do in few dimensions, since draws are spread evenly; weights that vary undo that), unless
/// draws take more multiplications, or are more.
constexpr double kEnoughEffective = 400;
constexpr double kEnoughUneven = 1000;
constexpr double kEnoughPerDimension = 60;
constexpr double kWorkOfSample = 8e9;
constexpr Index kMostDraws = 20'000;
/// And until sds are known as well, which takes more draws of skewed parameters; but sds of heavy tails never
/// are, and further draws must not take long.
constexpr double kErrorOfSds = .04;
constexpr double kMostForSds = 1600;
/// A round may make a sample so many times as large.
constexpr double kGrowth = 2;
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

/// Whether this share of the draws is effective.
bool reaches(double share, const SmoothedWeights& weights, Index size) {
  return weights.khat <= kDoubtfulKhat && weights.effective >= share * static_cast<double>(size);
}

/// Rounds of proposals, each around what those before have found.
class Rounds {
 public:
  Rounds(const MixedModel& model, mixed::ImportanceSample& sample)
      : model_(model), sample_(sample), count_(proposals_of_round(model)) {}

  int number() const { return number_; }
  /// Weights of all draws; unset if there are none. `around` becomes their Gaussian, if there is one.
  std::optional<SmoothedWeights> next(Gaussian& around, std::uint64_t seed) {
    sample_.add(around, count_, seed + static_cast<std::uint64_t>(number_++));
    auto weights = sample_.weights();
    auto moments = weights ? sample_.moments(*weights) : std::nullopt;
    more_ = moments && !enough(*weights);
    if (moments) around = std::move(*moments);
    return weights;
  }
  bool more() const { return more_; }

 private:
  /// Else the next round has as many draws as are missing, within reason.
  bool enough(const SmoothedWeights& weights) {
    const Index size = sample_.size();
    const auto affordable =
        static_cast<Index>(std::min(kWorkOfSample / model_.work(), static_cast<double>(kMostDraws)));
    // The first round proposes around the mode; the second around the mean, with the posterior's spread. That
    // is left out if it takes long and the first has nearly the posterior's.
    if (number_ == 1) return size >= affordable && reaches(kGaussianShare, weights, size);
    const bool even = reaches(kGoodShare, weights, size);
    if (!even && number_ < kMovingRounds) return false;
    const double wanted = std::min(even ? kEnoughEffective : kEnoughUneven,
                                   kEnoughPerDimension * static_cast<double>(model_.model().dimension()));
    const double shortage = std::max(wanted / weights.effective, shortage_for_sds(weights));
    if (shortage <= 1 || weights.khat > kPoorKhat) return true;
    if (size >= affordable) return true;
    const double missing = (shortage - 1) * static_cast<double>(size);
    const double most = std::min(kGrowth * static_cast<double>(size), static_cast<double>(affordable - size));
    count_ = std::max(kFewestProposals, static_cast<Index>(std::min(missing, most)));
    return false;
  }

  /// The draws that sds need over those that there are.
  double shortage_for_sds(const SmoothedWeights& weights) const {
    const double affordable = std::min(kMostForSds, kWorkOfRound / model_.work());
    return std::min(std::pow(sample_.error_of_sds(weights) / kErrorOfSds, 2),
                    affordable / static_cast<double>(sample_.size()));
  }

  const MixedModel& model_;
  mixed::ImportanceSample& sample_;
  Index count_;
  int number_ = 0;
  bool more_ = true;
};

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
    for (Rounds rounds(model_, sample_); rounds.more();) {
      weights_ = rounds.next(*around_, options_.seed);
      if (weights_) control_.report(rounds.number(), sample_.elbo(*around_).value);
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
  Gaussian around = posterior;
  std::optional<SmoothedWeights> weights;
  for (Rounds rounds(model, sample); rounds.more();) weights = rounds.next(around, seed);
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
