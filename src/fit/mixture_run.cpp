#include "fit/mixture_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "assess/assess.hpp"
#include "assess/marginals.hpp"
#include "assess/pareto.hpp"
#include "assess/reweighted.hpp"
#include "fit/shape_verdict.hpp"
#include "mixture/fit_mixture.hpp"
#include "mixture/hyper_parameters.hpp"
#include "search/rank_choice.hpp"

namespace magva {

namespace {

/// Smaller posteriors have linear response and skewed shapes.
constexpr Index kFewestParameters = 64;
/// The largest m for which all of a dense Hessian is had by differences.
constexpr Index kMostDenseMixture = 500;
/// Gradients, at most: so many times those of the fit, or so many.
constexpr std::int64_t kMixtureGradientsOfFit = 3;
constexpr std::int64_t kMixtureGradients = 30'000;
/// Places to begin at.
constexpr int kMostCentres = 6;
/// Draws by which it is judged: as many as the Gaussian is, fewer where their log densities under all
/// components would take more numbers.
constexpr Index kFewestMixtureDraws = 500;
constexpr double kMostMixtureNumbers = 5e8;
/// An ELBO is lower if it is so by more than this many standard errors of the difference.
constexpr double kMixtureNoise = 2;
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
struct JudgedDraws {
  Matrix theta;
  Vector log_weights;
  double elbo, se, spread;
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

class MixtureRun {
 public:
  MixtureRun(Evaluator& evaluator, const FitOptions& options, FitResult& result)
      : evaluator_(evaluator), options_(options), result_(result), fitted_(result.posterior) {}

  void run(std::shared_ptr<const HessianPattern> pattern) {
    const Index m = fitted_.dimension();
    if (!worth_trying() || (!pattern && m > kMostDenseMixture)) return;
    const std::int64_t before = evaluator_.evaluations();
    if (!pattern) pattern = full_pattern(m);
    if (const auto mixture = find(pattern)) {
      const std::int64_t gradients = evaluator_.evaluations() - before;
      if (const auto draws = judged_draws(*mixture, pattern->entries())) decide(mixture, *draws);
      result_.gradient_evaluations += gradients;
    }
  }

 private:
  /// From the fitted Gaussian; begins again where the hyper-parameters have more mass, and there may be
  /// others of them.
  std::shared_ptr<const GaussianMixture> find(const std::shared_ptr<const HessianPattern>& pattern) {
    const std::int64_t most =
        std::max(kMixtureGradients, kMixtureGradientsOfFit * result_.gradient_evaluations);
    Gaussian from = fitted_;
    std::vector<Index> hyper = find_hyper_parameters(evaluator_, from, options_.seed + 6);
    for (int k = 0; k < kMostCentres; ++k) {
      if (hyper.empty() || mixture_cost(*pattern, static_cast<Index>(hyper.size())) > most) return nullptr;
      MixtureAttempt found = fit_mixture(evaluator_, from, pattern, hyper, options_.seed + 7);
      if (!found.elsewhere) return found.mixture;
      from = std::move(*found.elsewhere);
      auto others = find_hyper_parameters(evaluator_, from, options_.seed + 6);
      if (!others.empty()) hyper = std::move(others);
    }
    return nullptr;
  }

  /// A rank that was asked for is asked for with what it cannot show, and a limit with what it leaves undone.
  /// Linear response of many parameters is to leading order, and may be rougher than a mixture.
  bool worth_trying() const {
    const Index m = fitted_.dimension();
    const bool free = options_.shape == ShapeChoice::kAutomatic && options_.rank.value_or(m) >= m &&
                      options_.max_evaluations == 0 && !options_.max_iterations;
    const bool ended =
        result_.stopped == StopReason::kConverged || result_.stopped == StopReason::kIterationLimit;
    return m >= kFewestParameters && free && ended &&
           std::all_of(result_.warnings.begin(), result_.warnings.end(),
                       [](const Warning& warning) {
                         return about_shape(warning.kind) || warning.kind == WarningKind::kNotConverged;
                       }) &&
           (!result_.warnings.empty() || !fitted_.has_correction() || m > kFullRankDimension);
  }

  /// Nothing where the posterior is not near the mixture.
  std::optional<JudgedDraws> judged_draws(const GaussianMixture& mixture, Index entries) {
    const double numbers = static_cast<double>(entries) * static_cast<double>(mixture.components().size());
    const Index count = std::clamp(static_cast<Index>(kMostMixtureNumbers / numbers), kFewestMixtureDraws,
                                   std::max(kFewestMixtureDraws, options_.diagnostic_draws));
    Matrix theta = mixture.draws(count, options_.seed + 8);
    Vector log_weights = evaluator_.evaluate_values(theta) - mixture.log_density(theta);
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
    return JudgedDraws{std::move(theta), std::move(log_weights), elbo, spread / std::sqrt(kept),
                       spread,           std::move(smoothed)};
  }

  void decide(const std::shared_ptr<const GaussianMixture>& mixture, const JudgedDraws& draws) {
    const Assessment found = assessment_of(draws);
    const bool keep = is_better(draws, found);
    result_.shapes.push_back(
        {fitted_.shape(), result_.elbo, result_.elbo_se, result_.trusted, result_.doubts.size(), !keep});
    result_.shapes.push_back(
        {mixture->shape(), found.elbo, found.elbo_se, found.trusted, found.doubts.size(), keep});
    if (!keep) return;
    result_.posterior = (converged() ? fitted_ : heaviest(*mixture)).with_shape(mixture);
    result_.elbo = found.elbo;
    result_.elbo_se = found.elbo_se;
    result_.khat = found.khat;
    result_.trusted = found.trusted;
    result_.warnings = found.warnings;
    result_.doubts = found.doubts;
    result_.sd_se = 0;
  }

  /// A fit that has not converged says nothing for the mixture: its own weights must.
  bool is_better(const JudgedDraws& draws, const Assessment& found) const {
    const double noise = std::hypot(draws.se, result_.elbo_se);
    return draws.elbo > result_.elbo - kMixtureNoise * noise &&
           !Verdict(found.trusted, found.warnings, found.doubts)
                .worse_than(Verdict(result_.trusted, result_.warnings, result_.doubts)) &&
           (converged() || (draws.telling() && found.trusted));
  }

  bool converged() const { return result_.stopped == StopReason::kConverged; }

  static Gaussian heaviest(const GaussianMixture& mixture) {
    Index best = 0;
    mixture.weights().maxCoeff(&best);
    return mixture.components()[static_cast<std::size_t>(best)];
  }

  /// By what the weights make of the quantities that will be read.
  Assessment assessment_of(const JudgedDraws& draws) const {
    Assessment out;
    out.elbo = draws.elbo;
    out.elbo_se = draws.se;
    out.khat = draws.smoothed.khat;
    std::vector<std::string> names;
    if (options_.quantities)
      names = options_.quantities->names;
    else
      for (Index i = 0; i < fitted_.dimension(); ++i) names.push_back(evaluator_.model().parameter_name(i));
    // Among many the largest of as many normals.
    const double errors = std::max(2., std::sqrt(2 * std::log(static_cast<double>(names.size()))));
    const auto moved =
        most_reweighted(names, options_.quantities ? options_.quantities->at(draws.theta) : draws.theta,
                        draws.weights(), errors);
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

  Evaluator& evaluator_;
  const FitOptions& options_;
  FitResult& result_;
  const Gaussian fitted_;
};

}  // namespace

void try_mixture(Evaluator& evaluator, const std::shared_ptr<const HessianPattern>& pattern,
                 const FitOptions& options, FitResult& result) {
  MixtureRun(evaluator, options, result).run(pattern);
}

}  // namespace magva
