#include "refine/refinement.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "core/noise.hpp"
#include "refine/low_rank_covariance.hpp"
#include "refine/refinement_state.hpp"
#include "search/curvature.hpp"
#include "sparse/hessian_pattern.hpp"

namespace magva {

namespace {

/// Antithetic pairs in the first batches: between these, about a quarter of m. Where m is large and the
/// covariance has full rank it is a quarter of m: steps that cost m^3 must be few, and fewer pairs say
/// nothing of m^2 numbers.
constexpr Index kFewestPairs = 8;
constexpr Index kFirstPairs = 16;
constexpr Index kLargeFullRank = 128;
/// Most pairs in a batch, and most numbers in one of a batch's matrices: 128 MiB.
constexpr Index kMostPairs = 4096;
constexpr Index kMostBatchNumbers = 1 << 24;
/// An iterate has collapsed where its ELBO has fallen below the best by kCollapseNats, this many nats a
/// parameter, and so many standard errors of the difference: it is rolled back, at most kMostReturns times,
/// with kReturnPairs the pairs.
constexpr double kCollapseNats = 20;
constexpr double kCollapseShare = .1;
constexpr double kCollapseErrors = 8;
constexpr int kMostReturns = 6;
constexpr Index kReturnPairs = 2;
/// Largest squared length / 2 of a step of the mean: nats, or nats a parameter, whichever is more.
constexpr double kLargestStepNats = .5;
constexpr double kLargestStepShare = .1;
/// Largest step of one parameter's mean, in sds, where m is large: nats that are left for thousands of
/// parameters are too many for one of them.
constexpr double kLargestCoordinateStep = 3;
/// What is left of a step that leads down, and the share of it that is taken in any case.
constexpr double kStepCut = .3;
constexpr double kShortestStep = .02;
/// Windows at a stationary point, with one batch size, that make an epoch; its iterates are averaged.
constexpr int kEpochWindows = 3;
/// A fit that has not converged returns an average of recent iterates, of at most this share of all pairs.
constexpr double kRecentShare = .15;
/// Share of pairs without a finite log density at which the covariance shrinks, and by how much its sds
/// shrink.
constexpr double kTooManyRejected = .5;
constexpr double kShrink = .7;
/// Differences along a coordinate that give a sparse Hessian, in conditional sds.
constexpr double kCurvatureDifference = .03;
/// A signal below this share of the tolerance counts as none.
constexpr double kQuietShare = .1;
/// Standard errors by which draws say that other factors are no better.
constexpr double kClearErrors = 2;

Index first_pairs(const Covariance& covariance, Index m) {
  if (covariance.pattern() != nullptr) return kFewestPairs;
  if (covariance.low_rank() == nullptr && m > kLargeFullRank) return m / 4;
  return std::clamp<Index>(m / 4, kFewestPairs, kFirstPairs);
}

// Columns of `from` whose flag is set, in place.
void keep(Matrix& from, const std::vector<Index>& kept) {
  if (static_cast<Index>(kept.size()) == from.cols()) return;
  from = Matrix(from(Eigen::all, kept));
}

}  // namespace

void IterateAverage::add(ConstVectorRef mean, const Covariance& covariance, double weight) {
  count += 1;
  if (count == 1) {
    value = {mean, covariance.coordinates(nullptr)};
    return;
  }
  value.mean += weight * (mean - value.mean);
  value.covariance = combine(1 - weight, value.covariance, weight, covariance.coordinates(&value.covariance));
}

Refinement::State::State(Evaluator& evaluator_, GaussianStart start, std::uint64_t seed_, double tolerance_)
    : evaluator(evaluator_),
      mean(std::move(start.mean)),
      covariance(std::move(start.covariance)),
      curvature(std::move(start.curvature)),
      sketching(covariance->low_rank() != nullptr && curvature == nullptr && mean.size() > kDenseDimension),
      seed(seed_),
      tolerance(tolerance_),
      pairs(first_pairs(*covariance, mean.size())),
      elbo(std::numeric_limits<double>::quiet_NaN()) {
  // A quadratic's best Gaussian of full rank may be the posterior's: then one epoch shows it.
  if (covariance->low_rank() == nullptr && covariance->pattern() == nullptr)
    previous = {mean, covariance->coordinates(nullptr)};
}

// False where too few pairs could be evaluated.
bool Refinement::State::draw_batch() {
  const Index m = mean.size();
  batch.noise.resize(covariance->noise_size(), pairs);
  Noise(seed, NoiseStream::kFit)
      .fill(static_cast<std::uint64_t>(iteration), 0, batch.noise, evaluator.workers());
  covariance->draw(batch);
  theta.resize(m, 2 * pairs);
  gradient.resize(m, 2 * pairs);
  theta.leftCols(pairs) = batch.deviation.colwise() + mean;
  theta.rightCols(pairs) = (-batch.deviation).colwise() + mean;
  Vector log_density(2 * pairs);
  evaluator.evaluate(theta, log_density, gradient);
  std::vector<Index> kept;
  const Vector pair_mean = .5 * (log_density.head(pairs) + log_density.tail(pairs));
  batch.curvature = pair_curvatures();
  for (Index s = 0; s < pairs; ++s)
    if (std::isfinite(pair_mean(s)) && batch.curvature.col(s).allFinite()) kept.push_back(s);
  if (static_cast<double>(kept.size()) < std::max(2., (1 - kTooManyRejected) * static_cast<double>(pairs)))
    return false;
  batch.half_difference = .5 * (gradient.leftCols(pairs) - gradient.rightCols(pairs));
  batch.pair_mean = .5 * (gradient.leftCols(pairs) + gradient.rightCols(pairs));
  for (Matrix* part : {&batch.noise, &batch.deviation, &batch.precision_times_delta, &batch.half_difference,
                       &batch.pair_mean, &batch.curvature})
    keep(*part, kept);
  pair_log_density = pair_mean(kept);
  const auto count = static_cast<double>(kept.size());
  elbo_se =
      std::sqrt((pair_log_density.array() - pair_log_density.mean()).square().sum() / (count - 1) / count);
  elbo = pair_log_density.mean() +
         .5 * (covariance->log_determinant() + static_cast<double>(m) * (std::log(2 * std::numbers::pi) + 1));
  return true;
}

// Differences in opposite directions at the two points of a pair: their bias cancels to first order.
Matrix Refinement::State::pair_curvatures() {
  const HessianPattern* pattern = covariance->pattern();
  if (pattern == nullptr) return Matrix(0, pairs);
  std::vector<double> sign(static_cast<std::size_t>(2 * pairs), 1);
  std::fill(sign.begin() + pairs, sign.end(), -1);
  const Matrix all = pattern->curvature(evaluator, theta, gradient,
                                        kCurvatureDifference * covariance->conditional_sd(), sign);
  return .5 * (all.leftCols(pairs) + all.rightCols(pairs));
}

Index Refinement::State::most_pairs() const {
  return std::clamp<Index>(kMostBatchNumbers / mean.size(), kFirstPairs, kMostPairs);
}

Vector Refinement::State::mean_step(ConstVectorRef of) const {
  return curvature ? curvature->mean_step(of, *covariance->low_rank()) : covariance->times(of);
}

Vector Refinement::State::longest_mean_step(ConstVectorRef of) const {
  return curvature ? curvature->longest_mean_step(of, *covariance->low_rank()) : covariance->times(of);
}

void Refinement::State::take_step() {
  if (curvature) curvature->prepare(batch, *covariance->low_rank());
  const Index half = batch.pairs() / 2;
  const Vector g1 = batch.pair_mean.leftCols(half).rowwise().mean();
  const Vector g2 = batch.pair_mean.rightCols(half).rowwise().mean();
  const Vector g = .5 * (g1 + g2);
  const Vector difference = .5 * (g1 - g2);
  const Vector direction_of_mean = mean_step(g);
  const double mean_total = .5 * g.dot(direction_of_mean);
  const double mean_noise = .5 * difference.dot(mean_step(difference));

  const auto [d1, d2] = differentials(half);
  const CovarianceTangent d = combine(.5, d1, .5, d2);
  const CovarianceTangent half_difference = combine(.5, d1, -.5, d2);
  const CovarianceTangent direction = natural_gradient(d);
  const double total = .5 * inner(d, direction);
  const double noise = .5 * inner(half_difference, natural_gradient(half_difference));

  if (!std::isfinite(total) || !std::isfinite(mean_total) || !std::isfinite(noise)) {
    covariance->scale(kShrink);  // gradients beyond all numbers: the draws are too far out
    return;
  }
  if (sketching)
    left_window.push_back(gain_of(g, difference, [&](const Vector& of) { return longest_mean_step(of); }));
  const bool first = last_mean_step.size() == 0;
  mean_window.push_back({mean_total - mean_noise, mean_total, first ? 0 : .5 * g.dot(last_mean_step)});
  covariance_window.push_back({total - noise, total, first ? 0 : .5 * inner(d, last_direction)});
  mean_control.observe(mean_window.back());
  covariance_control.observe(covariance_window.back());
  last_mean_step = direction_of_mean;
  last_direction = direction;

  if (curvature) curvature->learn(batch);
  const double step = mean_control.step();
  const double limit = std::max(kLargestStepNats, kLargestStepShare * static_cast<double>(mean.size()));
  const double length = step * std::min(1., std::sqrt(limit / std::max(step * step * mean_total, 1e-300)));
  move(bounded_mean_step(length * direction_of_mean), direction, covariance_control.step());
}

Vector Refinement::State::bounded_mean_step(const Vector& change) const {
  if (!sketching) return change;
  const LowRankCovariance& sigma = *covariance->low_rank();
  const Vector variance = sigma.factors().rowwise().squaredNorm() + sigma.residual_sd().cwiseAbs2();
  const Vector bound = kLargestCoordinateStep * variance.cwiseSqrt();
  return change.cwiseMin(bound).cwiseMax(-bound);
}

// Where m is large and the covariance has full rank, a step that the same draws show to lead down is cut: its
// error is of second order, and m^2 of them add up.
void Refinement::State::move(const Vector& mean_change, const CovarianceTangent& direction, double step) {
  const bool checked =
      covariance->low_rank() == nullptr && mean.size() > kLargeFullRank && quiet_windows == 0;
  const Vector from = mean;
  const auto before = checked ? covariance->clone() : nullptr;
  for (double share = 1;; share *= kStepCut) {
    mean = from + share * mean_change;
    covariance->move(direction, share * step);
    if (!checked || share < kShortestStep || !leads_down(before->log_determinant())) return;
    covariance = before->clone();
  }
}

bool Refinement::State::leads_down(double log_determinant_before) {
  const Index count = batch.pairs();
  PairBatch again;
  again.noise = batch.noise;
  covariance->draw(again);
  Matrix points(mean.size(), 2 * count);
  points.leftCols(count) = again.deviation.colwise() + mean;
  points.rightCols(count) = (-again.deviation).colwise() + mean;
  const Vector log_density = evaluator.evaluate_values(points);
  const Vector change = .5 * (log_density.head(count) + log_density.tail(count)) - pair_log_density;
  if (!change.allFinite()) return true;
  const auto n = static_cast<double>(count);
  const double se = std::sqrt((change.array() - change.mean()).square().sum() / (n - 1) / n);
  return change.mean() + .5 * (covariance->log_determinant() - log_determinant_before) < -se;
}

// With steps rho an average over n iterations has noise/n of the noise, and is n/2 iterations, or about n rho
// signal in nats, behind: the best n is sqrt(noise / (rho signal)).
void Refinement::State::average_recent() {
  const auto left = [](const WindowGain& gain, const StepControl& control) {
    return std::max(0., gain.signal - control.noise_floor(gain));
  };
  seen += static_cast<double>(batch.pairs());
  const double lag = std::max(mean_control.step(), covariance_control.step()) *
                     (left(mean_gain, mean_control) + left(covariance_gain, covariance_control));
  const double noise = mean_gain.noise() + covariance_gain.noise();
  const double memory = kRecentShare * seen / static_cast<double>(batch.pairs());
  const double iterations = noise > 0 ? std::min(memory, std::sqrt(noise / std::max(lag, 1e-300))) : 1;
  recent.add(mean, *covariance, 1 / std::max(1., iterations));
}

void Refinement::State::restart_epoch() {
  quiet_windows = 0;
  average.clear();
  left_window.clear();
  between_window.clear();
}

void Refinement::State::end_window() {
  mean_gain = summarise(mean_window);
  covariance_gain = summarise(covariance_window);
  mean_window.clear();
  covariance_window.clear();
  if (curvature) curvature->renew(*covariance->low_rank());
  const bool noise_dominated = mean_control.noise_dominated() && covariance_control.noise_dominated();
  const double signal = mean_gain.signal + covariance_gain.signal;
  const double floor = mean_control.noise_floor(mean_gain) + covariance_control.noise_floor(covariance_gain);
  const double se = std::hypot(mean_gain.signal_se, covariance_gain.signal_se);
  pair_noise.observe(pairs, mean_gain.noise() + covariance_gain.noise(), signal - 2 * se, tolerance);
  if (ends_short(signal - 2 * se)) return;
  const bool quiet = signal < std::max({2 * se, 2 * floor, kQuietShare * tolerance});
  if (!quiet) {
    restart_epoch();
    const bool signal_dominated = mean_control.signal_dominated() && covariance_control.signal_dominated();
    if (noise_dominated) pairs = std::min(2 * pairs, most_useful_pairs());
    if (signal_dominated) pairs = std::max(pairs / 2, first_pairs(*covariance, mean.size()));
    look_ahead();
    return;
  }
  window_end = {};
  if (++quiet_windows >= kEpochWindows) end_epoch();
}

bool Refinement::State::collapsed() const {
  if (!best_covariance) return false;
  return best_elbo - elbo > std::max({kCollapseNats, kCollapseShare * static_cast<double>(mean.size()),
                                      kCollapseErrors * std::hypot(elbo_se, best_elbo_se)});
}

// Far from a Gaussian posterior a few unlucky batches can throw the covariance off, and worse draws then give
// worse steps: such a fit goes back to its best iterate, and on with more draws.
bool Refinement::State::rolled_back() {
  if (elbo > best_elbo) {
    best_elbo = elbo;
    best_elbo_se = elbo_se;
    best_mean = mean;
    best_covariance = covariance->clone();
    return false;
  }
  return collapsed() && return_to_best();
}

bool Refinement::State::return_to_best() {
  if (!best_covariance || returns == kMostReturns) return false;
  ++returns;
  mean = best_mean;
  covariance = best_covariance->clone();
  pairs = std::min(kReturnPairs * pairs, most_pairs());
  mean_control = covariance_control = StepControl();
  pair_noise = {};
  mean_window.clear();
  covariance_window.clear();
  last_mean_step.resize(0);
  window_end = {};
  restart_epoch();
  recent.clear();
  return true;
}

// Most draws have no finite log density: the covariance is too wide, or the mean has left the support.
void Refinement::State::recover_from_rejections() {
  Vector at_mean(mean.size());
  if (std::isfinite(evaluator.evaluate(mean, at_mean)))
    covariance->scale(kShrink);
  else if (!return_to_best()) {
    status = RefinementStatus::kDiverged;
    stop_detail = "the log density is finite neither at the mean nor at most draws around it";
  }
}

void Refinement::step() {
  State& s = *state_;
  s.sketch_curvature();
  if (!s.draw_batch()) {
    s.recover_from_rejections();
  } else if (!s.rolled_back()) {
    s.take_step();
    s.average_recent();
    if (s.quiet_windows > 0) s.average.add(s.mean, *s.covariance);
    if (static_cast<int>(s.mean_window.size()) == kWindow) s.end_window();
  }
  ++s.iteration;
  const bool finite = s.mean.allFinite() && std::isfinite(s.covariance->log_determinant());
  if (!finite && !s.return_to_best()) {
    s.status = RefinementStatus::kDiverged;
    s.stop_detail = "the mean or the covariance stopped being finite";
  }
}

bool Refinement::go_back() { return state_->return_to_best(); }

Refinement::Refinement(Evaluator& evaluator, GaussianStart start, std::uint64_t seed, double tolerance)
    : state_(std::make_unique<State>(evaluator, std::move(start), seed, tolerance)) {}
Refinement Refinement::converged_at(Evaluator& evaluator, GaussianStart best, std::uint64_t seed,
                                    double tolerance, std::int64_t iterations, std::string detail) {
  Refinement out(evaluator, std::move(best), seed, tolerance);
  State& s = *out.state_;
  s.iteration = iterations;
  s.average.add(s.mean, *s.covariance);
  s.status = RefinementStatus::kConverged;
  s.stop_detail = std::move(detail);
  return out;
}
Refinement::Refinement(std::unique_ptr<State> state) : state_(std::move(state)) {}
Refinement::~Refinement() = default;
Refinement::Refinement(Refinement&&) noexcept = default;
Refinement& Refinement::operator=(Refinement&&) noexcept = default;

RefinementStatus Refinement::status() const { return state_->status; }
const std::string& Refinement::stop_detail() const { return state_->stop_detail; }
double Refinement::elbo() const { return state_->elbo; }
double Refinement::elbo_se() const { return state_->elbo_se; }
std::int64_t Refinement::iterations() const { return state_->iteration; }
Index Refinement::pairs() const { return state_->pairs; }
double Refinement::draws() const { return 2 * state_->seen; }

double Refinement::promised_gain() const {
  const WindowGain& mean = state_->mean_gain;
  const WindowGain& covariance = state_->covariance_gain;
  return std::max(0., mean.signal + covariance.signal + 2 * std::hypot(mean.signal_se, covariance.signal_se));
}

Gaussian Refinement::posterior() const {
  const State& s = *state_;
  const bool lost = s.status == RefinementStatus::kDiverged && s.best_covariance != nullptr;
  if (lost || (s.status == RefinementStatus::kRunning && s.collapsed()))
    return s.best_covariance->gaussian(s.best_mean);
  const bool ended = s.status == RefinementStatus::kConverged || s.status == RefinementStatus::kExhausted;
  const IterateAverage& best = ended && s.average.count > 0 ? s.average : s.recent;
  const auto covariance = best.count > 0 ? s.at(best.value) : nullptr;
  return covariance ? covariance->gaussian(best.value.mean) : s.covariance->gaussian(s.mean);
}

Vector Refinement::rough_sd() const {
  const Covariance& covariance = *state_->covariance;
  return covariance.pattern() != nullptr ? covariance.rough_sd() : posterior().sd();
}

std::optional<Refinement> Refinement::alternative() const {
  const State& s = *state_;
  if (!s.curvature) return std::nullopt;
  const auto other = s.curvature->alternative(*s.covariance->low_rank(), kAlternativePromise * s.tolerance,
                                              s.evaluator.control());
  if (!other) return std::nullopt;
  auto covariance = s.at({s.mean, *other});
  if (!covariance) return std::nullopt;
  // What was learned has noise, which factors may be fitted to.
  const Comparison found = s.compare(s.mean, *covariance, *s.covariance);
  if (found.difference + kClearErrors * found.se < kAlternativePromise * s.tolerance) return std::nullopt;
  return Refinement(s.evaluator, {posterior().mean(), std::move(covariance), s.curvature->clone()},
                    s.seed + 1, s.tolerance);
}

}  // namespace magva
