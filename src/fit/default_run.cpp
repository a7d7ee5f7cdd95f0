#include "fit/default_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/elbo.hpp"
#include "fit/funnel.hpp"
#include "fit/runs.hpp"
#include "magva/error.hpp"
#include "response/corrected_fit.hpp"

namespace magva {

namespace {

/// Gradients before the fit gives up: so many, and so many a parameter.
constexpr std::int64_t kEvaluations = 1'000'000;
constexpr std::int64_t kEvaluationsPerParameter = 600;
/// What 'converged' promises: within this many nats of the family's best, or this many a parameter, if more.
constexpr double kToleranceNats = .1;
constexpr double kToleranceShare = .002;
/// Iterations of each of several candidates before the best is chosen, draws for the ELBO by which they
/// are compared, and standard errors that are taken off it.
constexpr int kRaceIterations = 24;
constexpr Index kRaceDraws = 400;
constexpr double kRaceErrors = 2;
/// A candidate within so many nats of the best, and nats a parameter, is refined to the end, for so many
/// iterations at most: it may be another mode, and a better one.
constexpr double kRivalNats = 6;
constexpr double kRivalShare = .1;
constexpr int kRivalIterations = 400;
/// A rival that is still below the best, and too far below to be worth a warning, after so many steps as its
/// gradients promise, or that is so after as many draws as the best has taken, is given up.
constexpr double kRivalSteps = 10;
/// Two Gaussians are different modes where a mean differs by this many sds of both.
constexpr double kModesApart = 3;
/// Their masses differ by a factor exp(kModeNats) where the smaller mode is not worth a warning.
constexpr double kModeNats = 4;
/// How often a converged fit may move to other factors, and draws by which two fits are compared, the same
/// for both.
constexpr int kMostAlternatives = 3;
constexpr Index kAlternativeDraws = 4000;
/// A posterior sd that grows past this many times its scale at the start, and past this, has no bound.
constexpr double kRunawayGrowth = 1e4;
constexpr double kRunawaySd = 10;

// Refinements of different candidates draw different noise; the winner's is the seed's own.
std::uint64_t candidate_seed(std::uint64_t seed, std::size_t candidate) {
  return seed ^ (static_cast<std::uint64_t>(candidate) << 56U);
}

/// Of a refinement that has ended.
StopReason reason_of(RefinementStatus status) {
  if (status == RefinementStatus::kConverged) return StopReason::kConverged;
  return status == RefinementStatus::kExhausted ? StopReason::kIterationLimit : StopReason::kDiverged;
}

}  // namespace

bool different_modes(const Gaussian& a, const Gaussian& b) {
  return ((a.mean() - b.mean()).cwiseAbs().cwiseQuotient(a.sd().cwiseMax(b.sd()))).maxCoeff() > kModesApart;
}

std::int64_t FitOptions::evaluation_limit(Index dimension) const {
  if (max_evaluations > 0) return max_evaluations;
  return kEvaluations + kEvaluationsPerParameter * dimension;
}

double promised_nats(Index dimension) {
  return std::max(kToleranceNats, kToleranceShare * static_cast<double>(dimension));
}

DefaultRun::DefaultRun(const Model& model, const FitOptions& options, const std::vector<Observer>& observers)
    : model_(model),
      options_(options),
      control_({.seconds = options.time_limit,
                .evaluations = options.evaluation_limit(model.dimension()),
                .iterations = options.max_iterations.value_or(std::numeric_limits<std::int64_t>::max())},
               observers),
      evaluator_(model, choose_threads(options.threads, model), &control_),
      checkpoints_(options.checkpoint, "the default") {}

void DefaultRun::stop(StopReason reason, std::string detail) {
  stopped_ = reason;
  stop_detail_ = std::move(detail);
}

FitResult DefaultRun::run() {
  try {
    run_stages();
  } catch (const Stopped&) {
    std::string detail = control_.detail();
    if (best_ && best_->iterations() > 0) detail += "; " + best_->describe_window();
    stop(control_.reason(), std::move(detail));
  }
  evaluations_ = exact_fits_.empty() ? evaluator_.evaluations() : control_.evaluations();
  rejected_ = evaluator_.rejected();
  if (hierarchical_) return report_hierarchical();
  return exact_fits_.empty() ? assess_result() : assess_exact();
}

void DefaultRun::run_stages() {
  if (const ExpectedLogDensity* expected = exact_expectations())
    return fit_exactly(*expected, first_points(expected->log_concave() ? 1 : options_.starts));
  if (checkpoints_.resumes()) checkpoints_.load([&](io::ChecksummedReader& in) { read_checkpoint(in); });
  if (stage_ == Stage::kSearch) {
    if (search_.points.empty()) {
      search_.points = first_points(options_.starts);
      refuse_stochastic(search_.points.front());
      if (fit_hierarchical()) return;
    }
    find_candidates_and_shape();
    enter(Stage::kStart);
  }
  if (stage_ == Stage::kStart) {
    best_ = start_refinement(candidates_);
    candidates_.clear();
    first_sd_ = best_->rough_sd();
    control_.enter(Phase::kRefinement);
    try_newton_steps();
    enter(Stage::kRefinement);
  }
  if (stage_ == Stage::kRefinement) {
    refine();
    enter(Stage::kRivals);
  }
  if (stage_ == Stage::kRivals) {
    refine_rivals();
    enter(Stage::kAlternatives);
  }
  if (stage_ == Stage::kAlternatives) {
    try_other_factors();
    alternatives_.reset();
    enter(Stage::kAssessment);
  }
}

void DefaultRun::find_candidates_and_shape() {
  candidates_ = search(search_, [&] { save_checkpoint(); });
  control_.enter(Phase::kCurvature);
  shape_ = choose_shape(evaluator_, candidates_.front(), options_.rank, search_.pattern, options_.seed);
}

std::vector<Vector> DefaultRun::first_points(int count) {
  const Vector first = options_.init.value_or(model_.start());
  candidate_ = Candidate{{first, Vector::Zero(first.size()), 0}, std::nullopt, false, 0};
  return start_points(evaluator_, first, count, options_.seed);
}

void DefaultRun::refuse_stochastic(ConstVectorRef point) {
  if (is_stochastic(evaluator_, point))
    throw UsageError(
        "the log density differs between two evaluations at one point, so that a fit cannot tell when it "
        "has converged: give it the model on all rows, or a Minibatch");
}

std::vector<Candidate> DefaultRun::search(SearchState& state, const std::function<void()>& after_start) {
  SearchResult found = find_candidates(evaluator_, state, options_.seed, after_start);
  candidate_ = found.candidates.front();
  reports_ = std::move(found.reports);
  return std::move(found.candidates);
}

Refinement DefaultRun::start_refinement(const std::vector<Candidate>& candidates) {
  control_.enter(Phase::kQuadratic);
  std::vector<Refinement> runners;
  try {
    for (std::size_t i = 0; i < candidates.size(); ++i)
      runners.emplace_back(evaluator_, make_start(evaluator_, candidates[i], shape_, options_.seed),
                           candidate_seed(options_.seed, i), promised_nats(model_.dimension()));
  } catch (const Stopped&) {
    if (runners.empty()) throw;
  }
  if (runners.size() == 1) return std::move(runners.front());
  return compare(std::move(runners), candidates);
}

Refinement DefaultRun::compare(std::vector<Refinement> runners, const std::vector<Candidate>& candidates) {
  control_.enter(Phase::kComparison);
  const double near = kRivalNats + kRivalShare * static_cast<double>(model_.dimension());
  // At least, as far as draws tell: where a log density is rounding alone it may be anything.
  std::vector<double> elbo(runners.size(), -std::numeric_limits<double>::infinity());
  try {
    for (std::size_t i = 0; i < runners.size(); ++i) {
      for (int k = 0; k < kRaceIterations && runners[i].status() == RefinementStatus::kRunning; ++k) {
        control_.report(k, runners[i].elbo());
        runners[i].step();
      }
      if (runners[i].status() == RefinementStatus::kDiverged) {
        reports_[candidates[i].search].elbo = elbo[i];
        continue;
      }
      ElboEstimate found = estimate_elbo(evaluator_, runners[i].posterior(), kRaceDraws, options_.seed);
      // Where draws do not tell, a few of them being far out, few draws have led astray.
      if (kRaceErrors * found.se > near && runners[i].go_back())
        found = estimate_elbo(evaluator_, runners[i].posterior(), kRaceDraws, options_.seed);
      elbo[i] = found.elbo - kRaceErrors * found.se;
      reports_[candidates[i].search].elbo = found.elbo;
    }
  } catch (const Stopped&) {  // the best of those that were seen
  }
  const auto best = static_cast<std::size_t>(std::max_element(elbo.begin(), elbo.end()) - elbo.begin());
  for (std::size_t i = 0; i < runners.size(); ++i)
    if (i != best && elbo[i] > elbo[best] - near) rivals_.push_back(std::move(runners[i]));
  try {
    choose_rank_again(runners[best], candidates[best], elbo[best] - near);
  } catch (const Stopped&) {  // as it is
  }
  return std::move(runners[best]);
}

void DefaultRun::choose_rank_again(Refinement& best, const Candidate& from, double least_elbo) {
  const Index m = model_.dimension();
  if (from.is_mode || options_.rank || shape_.pattern || m <= kFullRankDimension || m > kDenseDimension)
    return;
  control_.enter(Phase::kCurvature);
  PathPoint centre{best.posterior().mean(), Vector(m), 0};
  centre.log_density = evaluator_.evaluate(centre.theta, centre.gradient);
  const auto curvature = dense_curvature(evaluator_, centre);
  if (!curvature) return;
  const Candidate candidate{std::move(centre), positive_part(*curvature), false, from.search};
  CovarianceShape shape = choose_shape(evaluator_, candidate, std::nullopt, nullptr, options_.seed);
  if (shape.choice.rank == shape_.choice.rank) return;
  Refinement other(evaluator_, make_start(evaluator_, candidate, shape, options_.seed), options_.seed,
                   promised_nats(m));
  if (!(compared_elbo(other) > least_elbo)) return;
  shape_ = std::move(shape);
  best = std::move(other);
}

void DefaultRun::report_iteration(const Refinement& of) {
  const auto write = [&](io::ChecksummedWriter& out) { write_checkpoint(out); };
  // Where an earlier stage had to end, what came of it is good for a result, not to go on from.
  const bool whole = !control_.stopped();
  if (whole) checkpoints_.save_when_due(control_.seconds(), write);
  try {
    control_.report(of.iterations(), of.elbo());
  } catch (const Stopped&) {
    if (whole) checkpoints_.save(write);
    throw;
  }
}

void DefaultRun::refine() {
  while (best_->status() == RefinementStatus::kRunning) {
    report_iteration(*best_);
    best_->step();
    if (best_->iterations() % kWindow == 0 && ran_away()) return;
  }
  stop(reason_of(best_->status()), best_->stop_detail());
}

// A short comparison cannot tell which of two modes has the better Gaussian: the best is the best of those
// that were refined to the end.
void DefaultRun::refine_rivals() {
  if (stopped_ != StopReason::kConverged || rivals_.empty()) return;
  if (!contest_) contest_ = RivalContest{compared_elbo(*best_), 0};
  auto& [elbo, next] = *contest_;
  for (refine(); stopped_ == StopReason::kConverged && next < rivals_.size();) {
    Refinement& rival = rivals_[next];
    control_.enter(Phase::kComparison);
    if (!refine_rival(rival)) {
      rivals_.erase(rivals_.begin() + static_cast<std::ptrdiff_t>(next));
      continue;
    }
    const double other = compared_elbo(rival);
    ++next;
    if (!(other > elbo)) continue;
    std::swap(*best_, rival);
    elbo = other;
    first_sd_ = best_->rough_sd();
    control_.enter(Phase::kRefinement);
    refine();
  }
}

// False where it leads to where the best is, or nowhere.
bool DefaultRun::refine_rival(Refinement& rival) {
  const Gaussian best = best_->posterior();
  while (rival.status() == RefinementStatus::kRunning &&
         rival.iterations() < kRaceIterations + kRivalIterations) {
    if (rival.iterations() % kWindow == 0 && (!different_modes(rival.posterior(), best) || hopeless(rival)))
      return false;
    report_iteration(rival);
    rival.step();
  }
  return rival.status() != RefinementStatus::kDiverged && different_modes(rival.posterior(), best);
}

bool DefaultRun::hopeless(const Refinement& rival) {
  const ElboEstimate now = estimate_elbo(evaluator_, rival.posterior(), kRaceDraws, options_.seed);
  // Where its next window would take more draws than the best has taken it has had its chance, whatever it
  // promises.
  const double next = rival.draws() + static_cast<double>(2 * kWindow * rival.pairs());
  const double promised = next < best_->draws() ? kRivalSteps * rival.promised_gain() : 0;
  return now.elbo + 2 * now.se + promised < contest_->elbo - kModeNats;
}

double DefaultRun::compared_elbo(const Refinement& of) {
  const ElboEstimate estimate = estimate_elbo(evaluator_, of.posterior(), kAlternativeDraws, options_.seed);
  control_.poll();  // what only some of the draws say is no comparison
  return estimate.elbo;
}

// A posterior without bound shows in sds that grow and grow; those that were far too small grow, too, and
// stop.
bool DefaultRun::ran_away() {
  const Vector sd = best_->rough_sd();
  Index worst = 0;
  const double growth = sd.cwiseQuotient(first_sd_).maxCoeff(&worst);
  if (!(growth > kRunawayGrowth) || !(sd(worst) > kRunawaySd)) return false;
  stop(StopReason::kDiverged,
       fmt::format("the sd of {} has grown to {:.3g} and keeps growing: the posterior has no bound there",
                   model_.parameter_name(worst), sd(worst)));
  return true;
}

void DefaultRun::try_other_factors() {
  const Index rank = shape_.choice.rank;
  if (stopped_ != StopReason::kConverged || rank == 0 || rank >= model_.dimension()) return;
  if (!alternatives_) {
    control_.enter(Phase::kAlternatives);
    const std::int64_t patience = std::max<std::int64_t>(kRivalIterations, 2 * best_->iterations());
    alternatives_ = Alternatives{compared_elbo(*best_), patience, 0, std::nullopt};
  }
  auto& [elbo, patience, tried, other] = *alternatives_;
  for (; tried < kMostAlternatives; ++tried) {
    if (!other) other = best_->alternative();
    if (!other) return;
    while (other->status() == RefinementStatus::kRunning && other->iterations() < patience) {
      report_iteration(*other);
      other->step();
    }
    const double found = compared_elbo(*other);
    if (!(found > elbo)) return;
    elbo = found;
    best_ = std::move(*other);
    other.reset();
    if (best_->status() != RefinementStatus::kConverged) {
      // What promised more has not been seen to its end.
      stop(
          StopReason::kIterationLimit,
          fmt::format("other factors promised more than those that had converged, and did not converge in {} "
                      "iterations",
                      patience));
      return;
    }
    stop_detail_ = best_->stop_detail();
  }
}

// A start that ended elsewhere with nearly as much mass is another mode, which one Gaussian cannot show.
void DefaultRun::compare_with_rivals(const Gaussian& best, Assessment& assessment) {
  for (const Refinement& rival : rivals_) {
    const Gaussian other = rival.posterior();
    if (rival.status() == RefinementStatus::kDiverged || !different_modes(other, best)) continue;
    const double elbo = estimate_elbo(evaluator_, other, kRaceDraws, options_.seed).elbo;
    if (elbo < assessment.elbo - kModeNats) continue;
    return warn_of_mode(best, other, elbo, assessment);
  }
  for (const ExactFit& fit : exact_fits_)
    if (different_modes(fit.posterior, best) && fit.elbo >= assessment.elbo - kModeNats)
      return warn_of_mode(best, fit.posterior, fit.elbo, assessment);
}

void DefaultRun::warn_of_mode(const Gaussian& best, const Gaussian& other, double elbo,
                              Assessment& assessment) const {
  Index worst = 0;
  (other.mean() - best.mean()).cwiseAbs().cwiseQuotient(best.sd().cwiseMax(other.sd())).maxCoeff(&worst);
  assessment.distrust(
      WarningKind::kSeveralModes,
      fmt::format("starts disagree: another one ends at ELBO {:.2f} (this one: {:.2f}) with {} = {:.3g} "
                  "instead of {:.3g}, so that the posterior has several modes, of which this Gaussian "
                  "shows one",
                  elbo, assessment.elbo, model_.parameter_name(worst), other.mean()(worst),
                  best.mean()(worst)));
}

// Only where there is something to explain.
void DefaultRun::warn_of_funnel(const Gaussian& q, Assessment& assessment) {
  if (assessment.warnings.empty() || !exact_fits_.empty() || control_.stopped()) return;
  if (const auto funnel = find_funnel(evaluator_, q))
    assessment.warn(WarningKind::kFarFromGaussian, describe(*funnel, model_));
}

Gaussian DefaultRun::posterior() const {
  if (best_) return best_->posterior();
  const Vector& mean = candidate_->centre.theta;
  Vector sd = Vector::Constant(mean.size(), kBlindSd);
  if (candidate_->sd) sd = *candidate_->sd;
  if (candidate_->has_curvature()) sd = candidate_->curvature_diagonal().cwiseSqrt().cwiseInverse();
  return Gaussian::low_rank(mean, Matrix(mean.size(), 0), std::move(sd));
}

FitResult DefaultRun::assess_result() {
  const FitEnding ending{stopped_, stop_detail_, stopped_ == StopReason::kConverged, true};
  AssessedGaussian found =
      assess_with_response(evaluator_, posterior(), ending,
                           {.draws = options_.diagnostic_draws,
                            .seed = options_.seed,
                            .quantities = options_.quantities ? &*options_.quantities : nullptr,
                            .estimate = std::nullopt},
                           evaluations_);
  // Draws of an expensive model take longer than a fit that was stopped may take for them.
  if (control_.stopped() && !std::isfinite(found.assessment.elbo) && best_) {
    found.assessment.elbo = best_->elbo();
    found.assessment.elbo_se = best_->elbo_se();
  }
  FitResult result = report(found.posterior, std::move(found.assessment), best_ ? best_->iterations() : 0);
  result.sd_se = found.sd_se;
  try {
    if (!control_.stopped()) try_mixture(evaluator_, shape_.pattern, early_mixture(), options_, result);
  } catch (const Stopped&) {  // the result is what it was
  }
  result.seconds = control_.seconds();
  return result;
}

FitResult DefaultRun::report(const Gaussian& q, Assessment assessment, std::int64_t iterations) {
  try {
    if (std::isfinite(assessment.elbo)) compare_with_rivals(q, assessment);
    warn_of_funnel(q, assessment);
  } catch (const Stopped&) {  // there was no time for it
  }
  FitResult result = assessed(q, std::move(assessment));
  result.rank_path = std::move(shape_.choice.path);
  result.starts = std::move(reports_);
  result.iterations = iterations;
  result.gradient_evaluations = evaluations_;
  result.rejected_draws = rejected_;
  result.seconds = control_.seconds();
  return result;
}

FitResult run_default(const Model& model, const FitOptions& options, const std::vector<Observer>& observers) {
  DefaultRun run(model, options, observers);
  FitResult result = run.run();
  if (!run.is_settled()) correct_by_chains(model, options, observers, result);
  return result;
}

}  // namespace magva
