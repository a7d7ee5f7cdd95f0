// The last word on a result: do short chains of Hamiltonian Monte Carlo that begin at its draws leave its
// means and sds as they are? Where they do not, the result becomes one that has theirs: the nearest to what
// was fitted that does.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "assess/doubts.hpp"
#include "assess/short_chains.hpp"
#include "fit/chain_forms.hpp"
#include "fit/runs.hpp"
#include "fit/shape_verdict.hpp"
#include "mixture/mixture_of_chains.hpp"

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
/// So many more for chains that have come to rest, and need no more than two further rounds, each of which
/// takes a root of two off their errors, and some luck.
constexpr std::int64_t kMoreGradients = 200'000;
constexpr double kNearlyKnown = 3;
/// Chains that remember more of where they began than this, by correlations that are .125 by chance, have not
/// come to rest.
constexpr double kRemembered = .5;
/// A change that would mislead.
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
/// The largest m for mixtures of chains, each cell of which takes matrices of its own, and draws for these.
constexpr Index kMostMixtureParameters = 200;
/// Draws of the approximation for the moments of its quantities.
constexpr Index kQuantityDraws = 8000;

constexpr Correction kCorrections[] = {{0, true}, {kDoubt, true}, {0, false}, {kDoubt, false}};

/// Among many quantities the largest error is the largest of as many normals.
double errors_among_many(Index quantities) {
  return std::max(2., std::sqrt(2 * std::log(2 * static_cast<double>(quantities))));
}

/// Of what is reported.
struct Moments {
  Vector mean, sd;
};

/// A posterior, and what chains still change of it.
struct Tried {
  Gaussian posterior;
  Moments reported;
  double left;
  bool is_corrected;
};

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
    const Index count = affordable_chains(evaluator_.dimension());
    if (count < kFewestChains || (result_.warnings.empty() && weights_tell())) return false;
    const std::uint64_t seed = options_.seed + 10;
    const Gaussian fitted = result_.posterior;
    ShortChains chains(evaluator_, fitted.corrected().without_correction(), fitted.best(),
                       fitted.best().draws(count, seed), seed);
    if (chains.count() < kFewestChains || !chains.settle()) return false;
    reported_ = reported_by(fitted);
    ShortChains::Draws draws = chains.run(kFirstRound, quantities_);
    int iterations = kFirstRound;
    std::vector<ChainMoments> before;
    while (is_open(draws) && affordable(2 * iterations * chains.gradients(), before, draws)) {
      // Chains take long to where sds are larger than those of their metric.
      auto metric = other_metric(chains.metric(), draws);
      if (metric && !chains.go_on_in(std::move(*metric))) break;
      iterations *= 2;
      before.push_back(of_interest(draws));
      draws = chains.run(iterations, quantities_);
    }
    if (!doubtful(draws) && !known(draws) && !suspicious(change(draws)) && !may_mislead(draws))
      return have_forgotten(draws);
    Tried best = best_correction(draws);
    if (may_have_cells(fitted) && suspicious(change(draws, best.reported))) {
      if (iterations < iterations_of_cells(chains) && cells_are_affordable(chains)) {
        iterations = iterations_of_cells(chains);
        before.push_back(of_interest(draws));
        draws = chains.run(iterations, quantities_);
        best.left = what_is_left(change(draws, best.reported));
      }
      try_cells(fitted, draws, best);
    }
    if (best.is_corrected) result_.chain_draws = iterations * chains.count();
    result_.posterior = std::move(best.posterior);
    reported_ = std::move(best.reported);
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
  ChainChange change(const ShortChains::Draws& draws) const { return change(draws, reported_); }
  const ChainMoments& of_interest(const ShortChains::Draws& draws) const {
    return quantities_ != nullptr ? draws.quantities : draws.coordinates;
  }

  ChainChange change(const ShortChains::Draws& draws, const Moments& reported) const {
    return {of_interest(draws), reported.mean, reported.sd};
  }

  Moments reported_by(const Gaussian& posterior) const {
    const Posterior& best = posterior.best();
    if (quantities_ == nullptr) return {best.mean(), best.sd()};
    const Matrix values = quantities_->at(best.draws(kQuantityDraws, options_.seed + 12));
    const Vector mean = values.rowwise().mean();
    return {mean, (values.colwise() - mean).rowwise().norm() / std::sqrt(static_cast<double>(values.cols()))};
  }

  std::string name_of(Index quantity) const {
    return quantities_ != nullptr ? quantities_->names[static_cast<std::size_t>(quantity)]
                                  : evaluator_.model().parameter_name(quantity);
  }

  std::vector<Doubt> in_doubt(const ShortChains::Draws& draws) const { return in_doubt(change(draws)); }

  std::vector<Doubt> in_doubt(
      const ChainChange& found, const std::function<bool(Index)>& counts = [](Index) { return true; }) const {
    const double errors = errors_among_many(found.shift.size());
    return doubts(found, [&](Index i) {
      return found.size(i) > kDoubt && found.size(i, errors) > kDoubt / 2 && counts(i);
    });
  }

  /// The worst first.
  std::vector<Doubt> doubts(const ChainChange& found, const std::function<bool(Index)>& counts) const {
    std::vector<Index> which;
    for (Index i = 0; i < found.shift.size(); ++i)
      if (counts(i)) which.push_back(i);
    std::sort(which.begin(), which.end(), [&](Index a, Index b) { return found.size(a) > found.size(b); });
    std::vector<Doubt> out;
    for (const Index i : which) out.push_back({name_of(i), found.shift(i), std::exp(found.log_sd(i))});
    return out;
  }

  bool known(const ShortChains::Draws& draws) const { return largest_error(draws) <= kKnownMoment; }

  double largest_error(const ShortChains::Draws& draws) const {
    const ChainChange found = change(draws);
    double out = 0;
    for (Index i = 0; i < found.shift.size(); ++i)
      if (!(found.error(i) <= out)) out = found.error(i);
    return out;
  }

  bool doubtful(const ShortChains::Draws& draws) const {
    return !result_.warnings.empty() || !in_doubt(draws).empty();
  }

  static bool suspicious(const ChainChange& found) {
    for (Index i = 0; i < found.shift.size(); ++i)
      if (found.suspicious(i)) return true;
    return false;
  }

  bool may_mislead(const ShortChains::Draws& draws) const {
    const ChainChange found = change(draws);
    for (Index i = 0; i < found.shift.size(); ++i)
      if (found.largest(i) > kMisleadingChange) return true;
    return false;
  }

  /// Whether further rounds may say something else: where nothing is in doubt yet that there is a change that
  /// would mislead, and while chains are near where they began; else all moments must be known.
  bool is_open(const ShortChains::Draws& draws) const {
    const ChainChange found = change(draws);
    if (doubtful(draws) || may_mislead(draws)) return !known(draws);
    for (Index i = 0; i < found.shift.size(); ++i)
      if (found.size(i) > kDoubt) return !known(draws);
    return !have_forgotten(draws);
  }

  bool have_forgotten(const ShortChains::Draws& draws) const {
    return !(of_interest(draws).memory.maxCoeff() > kRemembered);
  }

  std::int64_t gradients() const { return evaluator_.evaluations() - first_; }
  bool affordable(std::int64_t more, const std::vector<ChainMoments>& before,
                  const ShortChains::Draws& draws) const {
    const std::int64_t most = most_gradients(doubtful(draws));
    if (gradients() + more <= most) return true;
    const bool nearly_known = most >= kAllGradients && !before.empty() &&
                              largest_error(draws) <= kNearlyKnown * kKnownMoment &&
                              still_moving(before, draws).empty();
    return nearly_known && gradients() + more <= most + kMoreGradients;
  }
  std::int64_t most_gradients(bool in_doubt) const {
    return std::max(in_doubt ? kAllGradients : without_doubt_, result_.gradient_evaluations);
  }

  /// The first way of correcting that leaves nothing suspicious, or the one that leaves least; none, where
  /// that leaves less still, or where draws would have far less weight. Each coordinate is stretched for
  /// itself: where some that are each known to a twentieth have a sum that is known a hundred times better,
  /// as effects and the intercept have, what is noise in them would spoil the sum. Where that does not do,
  /// it is done to a Gaussian with the chains' covariance, which knows sums.
  Tried best_correction(const ShortChains::Draws& draws) {
    const Gaussian& fitted = result_.posterior;
    Tried best{fitted, reported_, what_is_left(change(draws)), false};
    if (!try_corrections(fitted, draws, best) && !fitted.has_shape() &&
        fitted.dimension() <= kMostDenseParameters)
      try_corrections(with_covariance_of(draws, fitted), draws, best);
    return best;
  }

  /// Keeps it if it is better. Whether it leaves nothing suspicious.
  bool keep_better(const Gaussian& posterior, const ShortChains::Draws& draws, Tried& best) const {
    Moments reported = reported_by(posterior);
    const ChainChange found = change(draws, reported);
    const double left = what_is_left(found);
    if (!(left < best.left)) return false;
    best = {posterior, std::move(reported), left, true};
    return !suspicious(found);
  }

  /// Until one leaves nothing suspicious, which is then the best, and the answer.
  bool try_corrections(const Gaussian& of, const ShortChains::Draws& draws, Tried& best) {
    const double least =
        typical_log_weight(result_.posterior) - kWeightShare * static_cast<double>(of.dimension());
    for (const Correction& how : kCorrections) {
      if (how.may_be_skewed && !can_be_skewed(of)) continue;
      const Gaussian tried = corrected(of, draws, how);
      if (typical_log_weight(tried) >= least && keep_better(tried, draws, best)) return true;
    }
    return false;
  }

  /// Where the chains' draws are no Gaussian with margins of its own, as in a funnel. Cells that are too
  /// coarse for what bends in them have draws where there is no mass.
  void try_cells(const Gaussian& fitted, const ShortChains::Draws& draws, Tried& best) {
    auto mixture = mixture_of_chains(with_covariance_of(draws, fitted).corrected(), draws.kept, draws.chains);
    if (!mixture) return;
    const double there = typical_log_density(mixture->draws(kSpreadDraws, options_.seed + 11));
    const Index every = std::max<Index>(1, draws.kept.cols() / kSpreadDraws);
    const Matrix some = draws.kept(Eigen::all, Eigen::seqN(0, kSpreadDraws, every));
    if (there > typical_log_density(some) - kWeightShare * static_cast<double>(fitted.dimension()))
      keep_better(fitted.without_correction().with_shape(std::move(mixture)), draws, best);
  }
  int iterations_of_cells(const ShortChains& chains) const {
    return static_cast<int>(draws_of_cells(evaluator_.dimension()) / chains.count());
  }
  bool cells_are_affordable(const ShortChains& chains) const {
    return gradients() + iterations_of_cells(chains) * chains.gradients() <= kAllGradients + kMoreGradients;
  }
  static bool may_have_cells(const Gaussian& fitted) {
    return fitted.dimension() <= kMostMixtureParameters && !fitted.has_shape();
  }

  /// Of changes that are no chance, squares.
  static double what_is_left(const ChainChange& found) {
    double out = 0;
    for (Index i = 0; i < found.shift.size(); ++i)
      out += std::pow(std::max(0., found.size(i, kSuspiciousErrors)), 2);
    return out;
  }

  /// The median of the log weights of its draws, whose mean is the ELBO, which a few draws far out may make
  /// anything.
  double typical_log_weight(const Gaussian& posterior) { return median(log_weights(posterior)); }
  double typical_log_density(const Matrix& theta) { return median(evaluator_.evaluate_values(theta)); }

  /// Undefined values are the lowest.
  static double median(const Vector& values) {
    Vector out = values.unaryExpr(
        [](double x) { return std::isnan(x) ? -std::numeric_limits<double>::infinity() : x; });
    const auto middle = out.begin() + out.size() / 2;
    std::nth_element(out.begin(), middle, out.end());
    return *middle;
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
    const ChainChange found = change(draws);
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
    const ChainChange found = change(draws);
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
    const std::vector<Doubt> found = still_moving(before, draws);
    if (found.empty()) return;
    warn(fmt::format("short chains of Hamiltonian Monte Carlo still move {}: where they end is not known; {}",
                     found.front().parameter, kSampleByMcmc));
    result_.trusted = result_.trusted && size_of(found.front()) <= kUselessDoubt;
  }

  std::vector<Doubt> still_moving(const std::vector<ChainMoments>& before,
                                  const ShortChains::Draws& draws) const {
    if (before.empty()) return {};
    const ChainMoments& now = of_interest(draws);
    std::vector<Doubt> found = in_doubt(moved(before.back(), now));
    for (std::size_t k = 1; k + 1 < before.size() && found.empty(); ++k)
      found =
          in_doubt(moved(before[k], now), [&](Index i) { return goes_on(before[k], before.back(), now, i); });
    return found;
  }

  /// Whether the last round had its share of what has changed since an early one.
  static bool goes_on(const ChainMoments& early, const ChainMoments& last, const ChainMoments& now, Index i) {
    const double mean = now.mean(i) - early.mean(i), log_sd = std::log(now.sd(i) / early.sd(i));
    if (std::abs(mean) > std::abs(log_sd) * now.sd(i))
      return (now.mean(i) - last.mean(i)) / mean > kLastShare;
    return std::log(now.sd(i) / last.sd(i)) / log_sd > kLastShare;
  }

  static ChainChange moved(const ChainMoments& from, const ChainMoments& to) {
    ChainChange out(to, from.mean, from.sd);
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
  Moments reported_;
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
