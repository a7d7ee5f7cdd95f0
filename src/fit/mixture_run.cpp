#include "fit/mixture_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "fit/shape_verdict.hpp"
#include "mixture/fit_mixture.hpp"
#include "mixture/hyper_mode.hpp"
#include "mixture/hyper_parameters.hpp"
#include "mixture/independent_others.hpp"
#include "search/candidates.hpp"
#include "search/rank_choice.hpp"

namespace magva {

namespace {

/// Smaller posteriors have linear response and skewed shapes.
constexpr Index kFewestParameters = 40;
/// The largest m for which all of a dense Hessian is had by differences.
constexpr Index kMostDenseMixture = 500;
/// Gradients, at most: so many times those of the fit, or so many, or so many a parameter, which is less than
/// a joint Gaussian takes.
constexpr std::int64_t kMixtureGradientsOfFit = 3;
constexpr std::int64_t kMixtureGradients = 30'000;
constexpr std::int64_t kMixtureGradientsPerParameter = 200;
/// Places to begin at.
constexpr int kMostCentres = 6;
/// Sets of hyper-parameters whose mode is looked for, each with what the one before has missed.
constexpr int kMostHyperSets = 3;
/// What hyper-parameters lose of their precision by a mean-field Gaussian, where those that lose more do not
/// explain the posterior.
constexpr double kWeakHyperLosses[] = {.025, .006};
/// Parameters that become hyper-parameters because weights change them.
constexpr int kMostDoubtful = 2;
/// So many others, independent given the hyper-parameters, are integrated over on their own: weights of
/// their draws say nothing.
constexpr Index kManyOthers = 1000;
/// An ELBO is lower if it is so by more than this many standard errors of the difference.
constexpr double kMixtureNoise = 2;

std::int64_t most_gradients(Index dimension) {
  return std::max(kMixtureGradients, kMixtureGradientsPerParameter * dimension);
}

/// Those that are not known, as far as there is room for them.
void add_missing(std::vector<Index>& known, const std::vector<Index>& others) {
  for (const Index i : others)
    if (known.size() < kMostHyperParameters && std::find(known.begin(), known.end(), i) == known.end())
      known.push_back(i);
}

/// The parameter that loses most given those that are known. False where it is nearly nothing, or there is no
/// room.
bool add_next(Evaluator& evaluator, const Gaussian& around, std::uint64_t seed, std::vector<Index>& hyper) {
  const std::vector<Index> found =
      find_hyper_parameters(evaluator, around, seed + 6, kWeakHyperLosses[0], hyper);
  for (const Index i : found) {
    const std::size_t before = hyper.size();
    add_missing(hyper, {i});
    if (hyper.size() > before) return true;
  }
  return false;
}

/// Begins at a Gaussian, and again where the hyper-parameters have more mass, and there may be others of
/// them. Where there is no mixture some of the others may be hyper-parameters that lose less. They are put
/// into `hyper`.
MixtureAttempt mixture_near(Evaluator& evaluator, Gaussian from, std::vector<Index>& hyper,
                            const std::shared_ptr<const HessianPattern>& pattern, std::int64_t most,
                            std::uint64_t seed) {
  const std::int64_t before = evaluator.evaluations();
  for (int k = 0; k < kMostCentres && evaluator.evaluations() - before < most; ++k) {
    if (hyper.empty() || mixture_cost(*pattern, static_cast<Index>(hyper.size())) > most) return {};
    MixtureAttempt found = fit_mixture(evaluator, from, pattern, hyper, seed + 7);
    if (found.mixture) return found;
    if (found.elsewhere) {
      from = std::move(*found.elsewhere);
      add_missing(hyper, find_hyper_parameters(evaluator, from, seed + 6, kLeastHyperLoss, hyper));
    } else if (!add_next(evaluator, from, seed, hyper)) {
      return {};
    }
  }
  return {};
}

bool same_set(std::vector<Index> a, std::vector<Index> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

bool affordable(const HessianPattern& pattern, const std::vector<Index>& hyper) {
  return mixture_cost(pattern, static_cast<Index>(hyper.size())) <= most_gradients(pattern.dimension());
}

/// Without the least of them, as far as that makes a mixture affordable.
std::vector<Index> affordable_part(const HessianPattern& pattern, std::vector<Index> hyper) {
  while (!hyper.empty() && !affordable(pattern, hyper)) hyper.pop_back();
  return hyper;
}

/// The others cannot be followed if some of them are hyper-parameters, which a Gaussian without correlations,
/// being too narrow, hardly shows. False where there are none.
bool add_weaker(Evaluator& evaluator, const Gaussian& around, const HessianPattern& pattern,
                double least_loss, std::uint64_t seed, std::vector<Index>& hyper) {
  const std::size_t before = hyper.size();
  add_missing(hyper, find_hyper_parameters(evaluator, around, seed + 6, least_loss, hyper));
  hyper = affordable_part(pattern, std::move(hyper));
  return hyper.size() > before;
}

/// A mixture in place of a fitted Gaussian.
class MixtureTrial {
 public:
  MixtureTrial(Evaluator& evaluator, const FitOptions& options, FitResult& result)
      : evaluator_(evaluator), options_(options), result_(result), fitted_(result.posterior) {}

  /// What was found before the Gaussian was fitted.
  void compare_with(const MixtureFound& early) {
    const bool ended = converged();
    if (!decide(early.mixture, *early.assessed) || ended) return;
    result_.posterior = early.around.with_shape(early.mixture);
    result_.stopped = StopReason::kConverged;
    result_.stop_detail =
        fmt::format("{}, {}", describe(early, evaluator_.model()), describe_weights(*early.assessed));
  }

  void run(std::shared_ptr<const HessianPattern> pattern) {
    const Index m = fitted_.dimension();
    if (!worth_trying() || (!pattern && m > kMostDenseMixture)) return;
    const std::int64_t before = evaluator_.evaluations();
    if (!pattern) pattern = full_pattern(m);
    std::vector<Index> hyper = find_hyper_parameters(evaluator_, fitted_, options_.seed + 6);
    const auto [mixture, elsewhere, weights] = mixture_near(
        evaluator_, fitted_, hyper, pattern,
        std::max(most_gradients(m), kMixtureGradientsOfFit * result_.gradient_evaluations), options_.seed);
    if (!mixture) return;
    const std::int64_t gradients = evaluator_.evaluations() - before;
    if (const auto found = assess_mixture(evaluator_, *mixture, pattern->entries(), weights.get(), options_))
      decide(mixture, *found);
    result_.gradient_evaluations += gradients;
  }

 private:
  /// Linear response of many parameters is to leading order, and may be rougher than a mixture.
  bool worth_trying() const {
    const bool ended =
        result_.stopped == StopReason::kConverged || result_.stopped == StopReason::kIterationLimit;
    return may_return_mixture(evaluator_.model(), options_) && ended &&
           std::all_of(result_.warnings.begin(), result_.warnings.end(),
                       [](const Warning& warning) {
                         return about_shape(warning.kind) || warning.kind == WarningKind::kNotConverged;
                       }) &&
           (!result_.warnings.empty() || !fitted_.has_correction() ||
            fitted_.dimension() > kFullRankDimension);
  }

  /// Whether it is kept.
  bool decide(const std::shared_ptr<const GaussianMixture>& mixture, const AssessedMixture& found) {
    const Assessment& by_weights = found.assessment;
    const bool keep = is_better(found);
    if (result_.shapes.empty())
      result_.shapes.push_back(
          {fitted_.shape(), result_.elbo, result_.elbo_se, result_.trusted, result_.doubts.size(), true});
    for (ShapeReport& before : result_.shapes) before.kept = before.kept && !keep;
    result_.shapes.push_back({mixture->shape(), by_weights.elbo, by_weights.elbo_se, by_weights.trusted,
                              by_weights.doubts.size(), keep});
    if (!keep) return false;
    result_.posterior = (converged() ? fitted_ : heaviest(*mixture)).with_shape(mixture);
    result_.elbo = by_weights.elbo;
    result_.elbo_se = by_weights.elbo_se;
    result_.khat = by_weights.khat;
    result_.trusted = by_weights.trusted;
    result_.warnings = by_weights.warnings;
    result_.doubts = by_weights.doubts;
    result_.sd_se = 0;
    return true;
  }

  /// A fit that has not converged says nothing for the mixture: its own weights must.
  bool is_better(const AssessedMixture& found) const {
    const Assessment& by_weights = found.assessment;
    const double noise = std::hypot(by_weights.elbo_se, result_.elbo_se);
    return by_weights.elbo > result_.elbo - kMixtureNoise * noise &&
           !Verdict(by_weights.trusted, by_weights.warnings, by_weights.doubts)
                .worse_than(Verdict(result_.trusted, result_.warnings, result_.doubts)) &&
           (converged() || (found.telling && by_weights.trusted));
  }

  bool converged() const { return result_.stopped == StopReason::kConverged; }

  static Gaussian heaviest(const GaussianMixture& mixture) {
    Index best = 0;
    mixture.weights().maxCoeff(&best);
    return mixture.components()[static_cast<std::size_t>(best)];
  }

  Evaluator& evaluator_;
  const FitOptions& options_;
  FitResult& result_;
  const Gaussian fitted_;
};

/// Hyper-parameters, and a Gaussian at their mode, or before that is known one near the posterior.
struct HyperMode {
  Gaussian around;
  std::vector<Index> hyper;
  std::vector<Index> confirmed = {};  ///< those that a Gaussian at the mode of the first set shows
};

/// The mode of these, and of those that a Gaussian there shows.
std::optional<HyperMode> find_hyper_mode(Evaluator& evaluator, HyperMode from,
                                         const std::shared_ptr<const HessianPattern>& entries,
                                         std::uint64_t seed) {
  auto& [around, hyper, confirmed] = from;
  auto at_mode = gaussian_at_hyper_mode(evaluator, around, entries, hyper, seed + 7);
  for (const double loss : kWeakHyperLosses)
    if (!at_mode && add_weaker(evaluator, around, *entries, loss, seed, hyper))
      at_mode = gaussian_at_hyper_mode(evaluator, around, entries, hyper, seed + 7);
  if (!at_mode) return std::nullopt;
  around = std::move(*at_mode);
  for (int k = 1; k < kMostHyperSets; ++k) {
    const std::vector<Index> found =
        find_hyper_parameters(evaluator, around, seed + 6, kLeastHyperLoss, hyper);
    if (k == 1) confirmed = found;
    // A mean-field Gaussian, which knows no correlations, may find more of them than there are.
    std::vector<Index> next = k == 1 && !found.empty() ? std::vector<Index>() : hyper;
    add_missing(next, found);
    if (same_set(next, hyper) || !affordable(*entries, next)) break;
    auto there = gaussian_at_hyper_mode(evaluator, around, entries, next, seed + 7);
    if (!there) break;
    around = std::move(*there);
    hyper = std::move(next);
  }
  return from;
}

/// The mode of those that leave many others independent given them, if they are few.
std::optional<HyperMode> separated_mode(Evaluator& evaluator, const Gaussian& around,
                                        const std::shared_ptr<const HessianPattern>& entries,
                                        std::uint64_t seed) {
  if (around.dimension() < kManyOthers) return std::nullopt;
  const auto separating = separating_set(*entries, {}, kMostHyperParameters);
  if (!separating || separating->empty() || !affordable(*entries, *separating)) return std::nullopt;
  auto at_mode = gaussian_at_hyper_mode(evaluator, around, entries, *separating, seed + 7);
  if (!at_mode) return std::nullopt;
  return HyperMode{std::move(*at_mode), *separating};
}

/// Where weights tell that a parameter is off which is none of the hyper-parameters, a mixture over these and
/// this one is the better one, if it is so by its own weights.
void add_doubtful(Evaluator& evaluator, const std::shared_ptr<const HessianPattern>& entries,
                  const FitOptions& options, MixtureFound& found) {
  for (int k = 0; k < kMostDoubtful && found.assessed && found.assessed->telling; ++k) {
    std::vector<Index> hyper = found.hyper_parameters;
    if (const auto doubtful = found.assessed->doubtful) add_missing(hyper, {*doubtful});
    if (hyper.size() == found.hyper_parameters.size() || !affordable(*entries, hyper)) return;
    const auto around = gaussian_at_hyper_mode(evaluator, found.around, entries, hyper, options.seed + 7);
    if (!around) return;
    MixtureAttempt next = fit_mixture(evaluator, *around, entries, hyper, options.seed + 7);
    if (!next.mixture) return;
    auto assessed = assess_mixture(evaluator, *next.mixture, entries->entries(), next.weights.get(), options);
    if (!assessed || assessed->assessment.elbo < found.assessed->assessment.elbo) return;
    found = {*around, next.mixture, std::move(assessed), std::move(hyper), next.weights};
  }
}

}  // namespace

bool may_return_mixture(const Model& model, const FitOptions& options) {
  const Index m = model.dimension();
  return m >= kFewestParameters && options.shape == ShapeChoice::kAutomatic &&
         options.rank.value_or(m) >= m && options.max_evaluations == 0 && !options.max_iterations;
}

std::optional<MixtureFound> find_mixture(Evaluator& evaluator, const MeanField& from,
                                         std::shared_ptr<const HessianPattern>& pattern,
                                         const FitOptions& options) {
  const Index m = from.mean.size();
  Gaussian around = Gaussian::low_rank(from.mean, Matrix(m, 0), from.sd);
  std::vector<Index> hyper = find_hyper_parameters(evaluator, around, options.seed + 6);
  // A Gaussian without correlations is too narrow to show all of them; one at their mode will tell.
  const bool sure = !hyper.empty();
  if (!sure) hyper = find_hyper_parameters(evaluator, around, options.seed + 6, kWeakHyperLosses[0]);
  if (hyper.empty()) return std::nullopt;
  if (!pattern) pattern = find_pattern(evaluator, from.mean, options.seed);
  if (!pattern && m > kMostDenseMixture) return std::nullopt;
  const auto entries = pattern ? pattern : full_pattern(m);
  hyper = affordable_part(*entries, std::move(hyper));
  if (hyper.empty()) return std::nullopt;
  auto mode = separated_mode(evaluator, around, entries, options.seed);
  if (!mode) {
    mode = find_hyper_mode(evaluator, {around, hyper}, entries, options.seed);
    if (!mode || (!sure && mode->confirmed.empty())) return std::nullopt;
  }
  MixtureFound out{mode->around, nullptr, std::nullopt, mode->hyper};
  MixtureAttempt found =
      mixture_near(evaluator, out.around, out.hyper_parameters, entries, most_gradients(m), options.seed);
  if (!found.mixture) return out;
  out.mixture = std::move(found.mixture);
  out.weights = std::move(found.weights);
  out.assessed = assess_mixture(evaluator, *out.mixture, entries->entries(), out.weights.get(), options);
  add_doubtful(evaluator, entries, options, out);
  return out;
}

std::optional<Gaussian> hyper_mode_from(Evaluator& evaluator, const MeanField& from,
                                        const std::shared_ptr<const HessianPattern>& pattern,
                                        const std::vector<Index>& hyper_parameters,
                                        const FitOptions& options) {
  const Index m = from.mean.size();
  return gaussian_at_hyper_mode(evaluator, Gaussian::low_rank(from.mean, Matrix(m, 0), from.sd),
                                pattern ? pattern : full_pattern(m), hyper_parameters, options.seed + 7);
}

std::string describe(const MixtureFound& found, const Model& model) {
  std::vector<std::string> names;
  for (const Index i : found.hyper_parameters) names.push_back(model.parameter_name(i));
  const std::string over = fmt::format("over {}", fmt::join(names, ", "));
  if (!found.mixture) return "a Gaussian at the mode " + over;
  return fmt::format("a mixture of {} Gaussians {}", found.mixture->components().size(), over);
}

std::string describe_weights(const AssessedMixture& assessed) {
  return fmt::format("with k-hat {:.2f} and a standard error of {:.2g} of its ELBO, {}",
                     assessed.assessment.khat, assessed.assessment.elbo_se,
                     assessed.without_doubt() ? "leaves no mean or sd in doubt"
                                              : "is nearer than the joint Gaussian, and leaves a doubt");
}

void try_mixture(Evaluator& evaluator, const std::shared_ptr<const HessianPattern>& pattern,
                 const MixtureFound* early, const FitOptions& options, FitResult& result) {
  MixtureTrial trial(evaluator, options, result);
  if (early != nullptr && early->assessed) trial.compare_with(*early);
  trial.run(pattern);
}

}  // namespace magva
