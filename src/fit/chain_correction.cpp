// The last word on a result: do short chains of Hamiltonian Monte Carlo that begin at its draws leave its
// means and sds as they are? Where they do not, each coordinate is shifted and stretched to have theirs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "assess/doubts.hpp"
#include "assess/short_chains.hpp"
#include "fit/runs.hpp"
#include "fit/shape_verdict.hpp"
#include "shape/skewed_margins.hpp"

namespace magva {

namespace {

/// Smaller posteriors are looked at in every coordinate.
constexpr Index kFewestChainParameters = 40;
/// Chains, and iterations of the first round; every further one has twice as many.
constexpr Index kMostChains = 64;
constexpr Index kFewestChains = 32;
constexpr int kFirstRound = 20;
/// Gradients where nothing is in doubt, at most, and where something is, or a joint Gaussian would be fitted
/// instead: these, or as many as the fit has taken.
constexpr std::int64_t kFirstGradients = 10'000;
constexpr std::int64_t kAllGradients = 100'000;
/// Chains that remember more of where they began than this, by correlations that are .125 by chance, have not
/// come to rest.
constexpr double kRemembered = .5;
/// Standard errors of a change that may be a doubt, and a change that would mislead.
constexpr double kSuspiciousErrors = 2;
constexpr double kMisleadingChange = .25;
/// Importance weights of draws that vary by less have found what there is.
constexpr double kTellingSpread = .5;
constexpr Index kSpreadDraws = 200;
/// Moments are known where their standard errors, in sds and of log sds, are below this; beyond the second
/// they may mislead.
constexpr double kKnownMoment = .05;
constexpr double kUnknownMoment = .1;
/// What goes on moving has made so much of its way since an early round in the last one.
constexpr double kLastShare = .25;
/// What a correction may take from the log weights of draws, in nats a parameter.
constexpr double kWeightShare = .1;
/// The largest m for margins with a skewness of their own, which take dense matrices.
constexpr Index kMostSkewedParameters = 500;
/// Draws of the approximation for the moments of its quantities.
constexpr Index kQuantityDraws = 8000;

/// Which coordinates are corrected, those that chains change by so much, and how.
struct Correction {
  double least_change;
  bool may_be_skewed;  // else they are shifted and stretched
};
constexpr Correction kAllSkewed{0, true}, kDoubtfulSkewed{kDoubt, true};
constexpr Correction kAllStretched{0, false}, kDoubtfulStretched{kDoubt, false};

/// How far moments of chains are from those of the approximation, in its sds and as logarithms.
struct Change {
  Vector shift, log_sd;
  Vector shift_se, log_sd_se;

  Change(const ChainMoments& chains, const Vector& mean, const Vector& sd)
      : shift((chains.mean - mean).cwiseQuotient(sd)),
        log_sd(chains.sd.cwiseQuotient(sd).array().log()),
        shift_se(chains.mean_se.cwiseQuotient(sd)),
        log_sd_se(chains.log_sd_se) {}

  /// In units of the larger sd: where the chains' is larger, so is what a mean may be off by. Less so many
  /// standard errors.
  double size(Index i, double standard_errors = 0) const {
    const double larger = std::max(1., std::exp(log_sd(i)));
    return std::max((std::abs(shift(i)) - standard_errors * shift_se(i)) / larger,
                    std::abs(log_sd(i)) - standard_errors * log_sd_se(i));
  }
  /// What it may be, as far as chance goes.
  double largest(Index i) const { return size(i, -kSuspiciousErrors); }
  /// Less than a doubt, perhaps, but more than what is left to chance.
  bool suspicious(Index i) const { return size(i) > kDoubt && size(i, kSuspiciousErrors) > 0; }
  double error(Index i) const { return std::max(shift_se(i) / std::exp(log_sd(i)), log_sd_se(i)); }
};

/// Each with a share that says how far it is beyond chance (Breiman's garrote): next to none of what is one
/// standard error, nearly all of what is three.
Vector beyond_noise(const Vector& change, const Vector& se) {
  const Eigen::ArrayXd squared_errors = change.array().square() / se.array().square();
  return change.array() * (1 - squared_errors.max(1).inverse());
}

/// Among many quantities the largest error is the largest of as many normals.
double errors_among_many(Index quantities) {
  return std::max(2., std::sqrt(2 * std::log(2 * static_cast<double>(quantities))));
}

class ChainCorrection {
 public:
  ChainCorrection(Evaluator& evaluator, const FitOptions& options, FitResult& result,
                  std::int64_t without_doubt)
      : evaluator_(evaluator),
        options_(options),
        result_(result),
        quantities_(options.quantities ? &*options.quantities : nullptr),
        without_doubt_(without_doubt),
        first_(evaluator.evaluations()) {}

  /// Whether chains, wherever they have come to, leave no mean or sd in doubt.
  bool run() {
    const Gaussian& metric = result_.posterior.corrected();
    const Index count = affordable_chains(metric.dimension());
    if (count < kFewestChains || (result_.warnings.empty() && weights_tell())) return false;
    const std::uint64_t seed = options_.seed + 10;
    ShortChains chains(evaluator_, metric, result_.posterior.best(),
                       result_.posterior.best().draws(count, seed), seed);
    if (chains.count() < kFewestChains || !chains.settle()) return false;
    look_at_result();
    ShortChains::Draws draws = chains.run(kFirstRound, quantities_);
    int iterations = kFirstRound;
    std::vector<ChainMoments> before;
    while (is_open(draws) &&
           gradients() + 2 * iterations * chains.gradients() <= most_gradients(doubtful(draws))) {
      iterations *= 2;
      before.push_back(of_interest(draws));
      draws = chains.run(iterations, quantities_);
    }
    if (!doubtful(draws) && !known(draws) && !suspicious(draws) && !may_mislead(draws))
      return have_forgotten(draws);
    if (correct(draws)) result_.chain_draws = iterations * chains.count();
    judge(before, draws);
    return result_.trusted && result_.doubts.empty();
  }

 private:
  Index affordable_chains(Index dimension) const {
    const std::int64_t each = (settling_iterations() + kFirstRound) * usual_chain_gradients(dimension);
    return std::min(kMostChains, static_cast<Index>(most_gradients(!result_.warnings.empty()) / each));
  }

  bool weights_tell() {
    const Vector weights = log_weights(result_.posterior);
    const double mean = weights.mean();
    return (weights.array() - mean).square().mean() < kTellingSpread * kTellingSpread;
  }

  Vector log_weights(const Gaussian& posterior) {
    const Matrix theta = posterior.best().draws(kSpreadDraws, options_.seed + 11);
    return evaluator_.evaluate_values(theta) - posterior.best().log_density(theta);
  }

  /// Of what is reported.
  Change change(const ShortChains::Draws& draws) const {
    return {of_interest(draws), reported_.mean, reported_.sd};
  }
  const ChainMoments& of_interest(const ShortChains::Draws& draws) const {
    return quantities_ != nullptr ? draws.quantities : draws.coordinates;
  }

  /// Means and sds of what is reported, by the result as it is now.
  void look_at_result() {
    const Posterior& best = result_.posterior.best();
    if (quantities_ == nullptr) {
      reported_ = {best.mean(), best.sd()};
      return;
    }
    const Matrix values = quantities_->at(best.draws(kQuantityDraws, options_.seed + 12));
    reported_.mean = values.rowwise().mean();
    reported_.sd =
        (values.colwise() - reported_.mean).rowwise().norm() / std::sqrt(static_cast<double>(values.cols()));
  }

  std::string name_of(Index quantity) const {
    return quantities_ != nullptr ? quantities_->names[static_cast<std::size_t>(quantity)]
                                  : evaluator_.model().parameter_name(quantity);
  }

  std::vector<Doubt> in_doubt(const ShortChains::Draws& draws) const { return in_doubt(change(draws)); }

  std::vector<Doubt> in_doubt(
      const Change& found, const std::function<bool(Index)>& counts = [](Index) { return true; }) const {
    const double errors = errors_among_many(found.shift.size());
    return doubts(found, [&](Index i) {
      return found.size(i) > kDoubt && found.size(i, errors) > kDoubt / 2 && counts(i);
    });
  }

  /// The worst first.
  std::vector<Doubt> doubts(const Change& found, const std::function<bool(Index)>& counts) const {
    std::vector<Index> which;
    for (Index i = 0; i < found.shift.size(); ++i)
      if (counts(i)) which.push_back(i);
    std::sort(which.begin(), which.end(), [&](Index a, Index b) { return found.size(a) > found.size(b); });
    std::vector<Doubt> out;
    for (const Index i : which) out.push_back({name_of(i), found.shift(i), std::exp(found.log_sd(i))});
    return out;
  }

  bool known(const ShortChains::Draws& draws) const {
    const Change found = change(draws);
    for (Index i = 0; i < found.shift.size(); ++i)
      if (!(found.error(i) <= kKnownMoment)) return false;
    return true;
  }

  bool doubtful(const ShortChains::Draws& draws) const {
    return !result_.warnings.empty() || !in_doubt(draws).empty();
  }

  bool suspicious(const ShortChains::Draws& draws) const {
    const Change found = change(draws);
    for (Index i = 0; i < found.shift.size(); ++i)
      if (found.suspicious(i)) return true;
    return false;
  }

  bool may_mislead(const ShortChains::Draws& draws) const {
    const Change found = change(draws);
    for (Index i = 0; i < found.shift.size(); ++i)
      if (found.largest(i) > kMisleadingChange) return true;
    return false;
  }

  /// Whether further rounds may say something else: where nothing is in doubt yet that there is a change that
  /// would mislead, and while chains are near where they began; else all moments must be known.
  bool is_open(const ShortChains::Draws& draws) const {
    const Change found = change(draws);
    if (doubtful(draws) || may_mislead(draws)) return !known(draws);
    for (Index i = 0; i < found.shift.size(); ++i)
      if (found.size(i) > kDoubt) return !known(draws);
    return !have_forgotten(draws);
  }

  bool have_forgotten(const ShortChains::Draws& draws) const {
    return !(of_interest(draws).memory.maxCoeff() > kRemembered);
  }

  std::int64_t gradients() const { return evaluator_.evaluations() - first_; }
  std::int64_t most_gradients(bool in_doubt) const {
    return std::max(in_doubt ? kAllGradients : without_doubt_, result_.gradient_evaluations);
  }

  /// The first way of correcting that leaves nothing suspicious, or the one that leaves least; none, where
  /// that leaves less still, or where draws would have far less weight. Each coordinate is stretched for
  /// itself: where some that are each known to a twentieth have a sum that is known a hundred times better,
  /// as effects and the intercept have, what is noise in them would spoil the sum.
  bool correct(const ShortChains::Draws& draws) {
    const Gaussian fitted = result_.posterior;
    const double least = typical_log_weight(fitted) - kWeightShare * static_cast<double>(fitted.dimension());
    Gaussian best = fitted;
    double left = what_is_left(draws);
    bool improved = false;
    for (const Correction how : {kAllSkewed, kDoubtfulSkewed, kAllStretched, kDoubtfulStretched}) {
      if (how.may_be_skewed && !can_be_skewed()) continue;
      result_.posterior = corrected(fitted, draws, how);
      if (typical_log_weight(result_.posterior) < least) continue;
      look_at_result();
      const double now = what_is_left(draws);
      if (!(now < left)) continue;
      best = result_.posterior;
      left = now;
      improved = true;
      if (!suspicious(draws)) break;
    }
    result_.posterior = best;
    look_at_result();
    return improved;
  }

  /// Of changes that are no chance, squares.
  double what_is_left(const ShortChains::Draws& draws) const {
    const Change found = change(draws);
    double out = 0;
    for (Index i = 0; i < found.shift.size(); ++i)
      out += std::pow(std::max(0., found.size(i, kSuspiciousErrors)), 2);
    return out;
  }

  /// The median of the log weights of its draws, whose mean is the ELBO, which a few draws far out may make
  /// anything.
  double typical_log_weight(const Gaussian& posterior) {
    Vector weights = log_weights(posterior).unaryExpr(
        [](double w) { return std::isnan(w) ? -std::numeric_limits<double>::infinity() : w; });
    const auto middle = weights.begin() + kSpreadDraws / 2;
    std::nth_element(weights.begin(), middle, weights.end());
    return *middle;
  }

  Gaussian corrected(const Gaussian& posterior, const ShortChains::Draws& draws,
                     const Correction& how) const {
    const Vector mean = posterior.best().mean(), sd = posterior.best().sd();
    const ChainMoments& chains = draws.coordinates;
    const Change found(chains, mean, sd);
    Matrix bends = how.may_be_skewed ? bends_of(draws.kept) : Matrix();
    Vector scale = beyond_noise(found.log_sd, found.log_sd_se).array().exp();
    Vector moved = mean + sd.cwiseProduct(beyond_noise(found.shift, found.shift_se));
    for (Index i = 0; i < mean.size(); ++i) {
      if (found.size(i) < how.least_change) {
        scale(i) = 1;
        moved(i) = mean(i);
        if (bends.size() > 0) bends.row(i).setZero();
      } else if (bends.size() > 0 && !bends.row(i).isZero(0)) {  // the mean and the sd of that margin
        scale(i) = std::exp(found.log_sd(i));
        moved(i) = chains.mean(i);
      }
    }
    if (!bends.isZero(0))
      return posterior.with_shape(
          with_margins(posterior.corrected(), {moved, scale.cwiseProduct(sd), bends}));
    const Vector offset = moved - scale.cwiseProduct(mean);
    if (posterior.has_shape()) return posterior.with_shape(posterior.best().rescaled(offset, scale));
    return posterior.without_correction().with_correction(
        posterior.corrected().without_correction().transformed(offset, scale));
  }

  /// Mixtures have margins of their own.
  bool can_be_skewed() const {
    const Gaussian& posterior = result_.posterior;
    return posterior.dimension() <= kMostSkewedParameters && !posterior.corrected().is_sparse() &&
           (!posterior.has_shape() || posterior.best().shape() == std::string_view("skewed"));
  }

  /// Where the chains have come to rest, and know where, doubts about the shape are answered. Weights that
  /// say that nothing of it is near the posterior are not: chains do not leave a place that holds them.
  void judge(const std::vector<ChainMoments>& before, const ShortChains::Draws& draws) {
    const bool was_trusted = result_.trusted;
    const std::vector<Warning> old = std::exchange(result_.warnings, {});
    result_.trusted = true;
    doubt_shape(draws);
    doubt_errors(draws);
    doubt_moving(before, draws);
    const bool settled = result_.warnings.empty();
    result_.trusted = result_.trusted && (was_trusted || (settled && only_about_shape(old)));
    if (was_trusted && settled && known(draws)) return;
    result_.warnings.insert(result_.warnings.begin(), old.begin(), old.end());
  }

  /// After corrections, which have taken what chance explains.
  void doubt_shape(const ShortChains::Draws& draws) {
    const Change found = change(draws);
    result_.doubts = result_.chain_draws > 0 ? doubts(found, [&](Index i) { return found.suspicious(i); })
                                             : in_doubt(draws);
    if (result_.doubts.empty()) return;
    warn(fmt::format(
        "short chains of Hamiltonian Monte Carlo find that the approximation misses a part of the "
        "posterior, in {}; {}",
        describe(result_.doubts), kSampleByMcmc));
    result_.trusted = size_of(result_.doubts.front()) <= kUselessDoubt;
  }

  void doubt_errors(const ShortChains::Draws& draws) {
    const Change found = change(draws);
    Index worst = 0;
    for (Index i = 0; i < found.shift.size(); ++i)
      if (found.error(i) > found.error(worst)) worst = i;
    if (!(found.error(worst) > kUnknownMoment)) return;
    warn(
        fmt::format("short chains of Hamiltonian Monte Carlo know the mean of {} to {:.2g} sds and its sd to "
                    "{:.0f} % only; {}",
                    name_of(worst), found.shift_se(worst) / std::exp(found.log_sd(worst)),
                    100 * found.log_sd_se(worst), kSampleByMcmc));
  }

  /// Moments that are not those of the round before are not the last. Nor are those that are on their way:
  /// what takes chains long moves by a little from round to round.
  void doubt_moving(const std::vector<ChainMoments>& before, const ShortChains::Draws& draws) {
    if (before.empty()) return;
    const ChainMoments& now = of_interest(draws);
    std::vector<Doubt> found = in_doubt(moved(before.back(), now));
    for (std::size_t k = 1; k + 1 < before.size() && found.empty(); ++k)
      found =
          in_doubt(moved(before[k], now), [&](Index i) { return goes_on(before[k], before.back(), now, i); });
    if (found.empty()) return;
    warn(fmt::format("short chains of Hamiltonian Monte Carlo still move {}: where they end is not known; {}",
                     found.front().parameter, kSampleByMcmc));
    result_.trusted = result_.trusted && size_of(found.front()) <= kUselessDoubt;
  }

  /// Whether the last round had its share of what has changed since an early one.
  static bool goes_on(const ChainMoments& early, const ChainMoments& last, const ChainMoments& now, Index i) {
    const double mean = now.mean(i) - early.mean(i), log_sd = std::log(now.sd(i) / early.sd(i));
    if (std::abs(mean) > std::abs(log_sd) * now.sd(i))
      return (now.mean(i) - last.mean(i)) / mean > kLastShare;
    return std::log(now.sd(i) / last.sd(i)) / log_sd > kLastShare;
  }

  static Change moved(const ChainMoments& from, const ChainMoments& to) {
    Change out(to, from.mean, from.sd);
    out.shift_se = (out.shift_se.cwiseAbs2() + from.mean_se.cwiseQuotient(from.sd).cwiseAbs2()).cwiseSqrt();
    out.log_sd_se = (out.log_sd_se.cwiseAbs2() + from.log_sd_se.cwiseAbs2()).cwiseSqrt();
    return out;
  }

  void warn(std::string message) {
    result_.warnings.push_back({WarningKind::kReweighted, std::move(message)});
  }

  Evaluator& evaluator_;
  const FitOptions& options_;
  FitResult& result_;
  const Quantities* quantities_;
  const std::int64_t without_doubt_;  // gradients, at most, where nothing is in doubt
  const std::int64_t first_;          // evaluations before all of this
  struct {
    Vector mean, sd;
  } reported_;
};

/// Chains know nothing of other modes, nor of tails that have no moments.
bool can_be_settled(const Warning& warning) {
  return about_shape(warning.kind) || warning.kind == WarningKind::kNotConverged;
}

bool can_be_corrected(const Model& model, const FitOptions& options, const FitResult& result) {
  const Index m = model.dimension();
  return m >= kFewestChainParameters && options.shape == ShapeChoice::kAutomatic &&
         options.rank.value_or(m) >= m && options.max_evaluations == 0 && !options.max_iterations &&
         (result.stopped == StopReason::kConverged || result.stopped == StopReason::kIterationLimit) &&
         result.expectations == Expectations::kDraws &&
         std::all_of(result.warnings.begin(), result.warnings.end(), can_be_settled);
}

}  // namespace

bool settle_by_chains(Evaluator& evaluator, const FitOptions& options, FitResult& result) {
  return ChainCorrection(evaluator, options, result, kAllGradients).run();
}

void correct_by_chains(const Model& model, const FitOptions& options, const std::vector<Observer>& observers,
                       FitResult& result) {
  if (!can_be_corrected(model, options, result)) return;
  Control control({.seconds = options.time_limit - result.seconds}, observers, Phase::kAssessment);
  control.go_on_from({{Phase::kAssessment, 0, result.gradient_evaluations, result.seconds, result.elbo},
                      static_cast<double>(result.gradient_evaluations)});
  Evaluator evaluator(model, choose_threads(options.threads, model), &control);
  try {
    ChainCorrection(evaluator, options, result, kFirstGradients).run();
  } catch (const Stopped&) {  // there was no time for it
  }
  result.seconds = control.seconds();
}

}  // namespace magva
