#include "refine/refinement.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "core/noise.hpp"
#include "fit/constants.hpp"
#include "refine/refinement_state.hpp"

namespace magva {

namespace {

Index first_pairs(Index m) {
  return std::clamp<Index>(m / 4, constants::kFewestPairs, constants::kFirstPairs);
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

Refinement::State::State(Evaluator& evaluator_, Vector mean_, std::unique_ptr<Covariance> covariance_,
                         std::uint64_t seed_, double tolerance_)
    : evaluator(evaluator_),
      mean(std::move(mean_)),
      covariance(std::move(covariance_)),
      seed(seed_),
      tolerance(tolerance_),
      pairs(first_pairs(mean.size())),
      elbo(std::numeric_limits<double>::quiet_NaN()) {}

// False where too few pairs could be evaluated; the covariance has then shrunk.
bool Refinement::State::draw_batch() {
  const Index m = mean.size();
  batch.noise.resize(covariance->noise_size(), pairs);
  Noise(seed, NoiseStream::kFit)
      .fill(static_cast<std::uint64_t>(iteration), 0, batch.noise, evaluator.workers());
  covariance->draw(batch);
  Matrix theta(m, 2 * pairs);
  theta.leftCols(pairs) = batch.deviation.colwise() + mean;
  theta.rightCols(pairs) = (-batch.deviation).colwise() + mean;
  Vector log_density(2 * pairs);
  Matrix gradient(m, 2 * pairs);
  evaluator.evaluate(theta, log_density, gradient);
  std::vector<Index> kept;
  double sum = 0;
  for (Index s = 0; s < pairs; ++s) {
    if (!std::isfinite(log_density(s)) || !std::isfinite(log_density(pairs + s))) continue;
    kept.push_back(s);
    sum += .5 * (log_density(s) + log_density(pairs + s));
  }
  if (static_cast<double>(kept.size()) <
      std::max(2., (1 - constants::kTooManyRejected) * static_cast<double>(pairs))) {
    covariance->scale(constants::kShrink);
    return false;
  }
  batch.odd = .5 * (gradient.leftCols(pairs) - gradient.rightCols(pairs));
  batch.even = .5 * (gradient.leftCols(pairs) + gradient.rightCols(pairs));
  for (Matrix* part : {&batch.noise, &batch.deviation, &batch.solved, &batch.odd, &batch.even})
    keep(*part, kept);
  elbo = sum / static_cast<double>(kept.size()) +
         .5 * (covariance->log_determinant() + static_cast<double>(m) * (std::log(2 * std::numbers::pi) + 1));
  return true;
}

Index Refinement::State::most_pairs() const {
  return std::clamp<Index>(constants::kMostBatchNumbers / mean.size(), constants::kFirstPairs,
                           constants::kMostPairs);
}

void Refinement::State::take_step() {
  covariance->prepare(batch);
  const Index half = batch.pairs() / 2;
  const Vector g1 = batch.even.leftCols(half).rowwise().mean();
  const Vector g2 = batch.even.rightCols(half).rowwise().mean();
  const Vector g = .5 * (g1 + g2);
  const Vector difference = .5 * (g1 - g2);
  const Vector mean_step = covariance->mean_step(g);
  const double mean_total = .5 * g.dot(mean_step);
  const double mean_noise = .5 * difference.dot(covariance->mean_step(difference));

  const auto [d1, d2] = differentials(half);
  const Tangent d = combine(.5, d1, .5, d2);
  const Tangent apart = combine(.5, d1, -.5, d2);
  const Tangent direction = covariance->natural(d);
  const double total = .5 * inner(d, direction);
  const double noise = .5 * inner(apart, covariance->natural(apart));

  if (!std::isfinite(total) || !std::isfinite(mean_total) || !std::isfinite(noise)) {
    covariance->scale(constants::kShrink);  // gradients beyond all numbers: the draws are too far out
    return;
  }
  if (covariance->sketches())
    left_window.push_back(gain_of(
        g, difference, [&](const Vector& gradient) { return covariance->longest_mean_step(gradient); }));
  const bool first = last_mean_step.size() == 0;
  mean_window.push_back({mean_total - mean_noise, mean_total, first ? 0 : .5 * g.dot(last_mean_step)});
  covariance_window.push_back({total - noise, total, first ? 0 : .5 * inner(d, last_direction)});
  mean_control.observe(mean_window.back());
  covariance_control.observe(covariance_window.back());
  last_mean_step = mean_step;
  last_direction = direction;

  covariance->learn(batch);
  const double step = mean_control.step();
  const double limit =
      std::max(constants::kLargestStepNats, constants::kLargestStepShare * static_cast<double>(mean.size()));
  mean += step * std::min(1., std::sqrt(limit / std::max(step * step * mean_total, 1e-300))) * mean_step;
  covariance->move(direction, covariance_control.step());
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
  const double memory = constants::kRecentShare * seen / static_cast<double>(batch.pairs());
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
  covariance->renew();
  const bool scarce = mean_control.scarce() && covariance_control.scarce();
  const double signal = mean_gain.signal + covariance_gain.signal;
  const double floor = mean_control.noise_floor(mean_gain) + covariance_control.noise_floor(covariance_gain);
  const double se = std::hypot(mean_gain.signal_se, covariance_gain.signal_se);
  const bool quiet = signal < std::max({2 * se, 2 * floor, constants::kQuietShare * tolerance});
  if (!quiet) {
    restart_epoch();
    const bool abundant = mean_control.abundant() && covariance_control.abundant();
    if (scarce) pairs = std::min(2 * pairs, most_pairs());
    if (abundant) pairs = std::max(pairs / 2, first_pairs(mean.size()));
    return;
  }
  if (++quiet_windows >= constants::kEpochWindows) end_epoch();
}

// Far from a Gaussian posterior a few unlucky batches can throw the covariance off, and worse draws then give
// worse steps: such a fit goes back to its best iterate, and on with more draws.
bool Refinement::State::went_back() {
  if (elbo > best_elbo) {
    best_elbo = elbo;
    best_mean = mean;
    best_covariance = covariance->clone();
    return false;
  }
  const double fall =
      std::max({constants::kCollapseNats, constants::kCollapseShare * static_cast<double>(mean.size()),
                constants::kCollapseShare * std::abs(best_elbo)});
  if (best_elbo - elbo < fall || returns == constants::kMostReturns) return false;
  ++returns;
  mean = best_mean;
  covariance = best_covariance->clone();
  pairs = std::min(constants::kReturnPairs * pairs, most_pairs());
  mean_control = covariance_control = StepControl();
  mean_window.clear();
  covariance_window.clear();
  last_mean_step.resize(0);
  restart_epoch();
  recent.clear();
  return true;
}

void Refinement::step() {
  State& s = *state_;
  s.sketch_curvature();
  if (s.draw_batch() && !s.went_back()) {
    s.take_step();
    s.average_recent();
    if (s.quiet_windows > 0) s.average.add(s.mean, *s.covariance);
    if (static_cast<int>(s.mean_window.size()) == constants::kWindow) s.end_window();
  }
  ++s.iteration;
  if (!s.mean.allFinite() || !std::isfinite(s.covariance->log_determinant())) {
    s.status = RefinementStatus::kDiverged;
    s.stop_detail = "the mean or the covariance stopped being finite";
  }
}

Refinement::Refinement(Evaluator& evaluator, Vector mean, std::unique_ptr<Covariance> covariance,
                       std::uint64_t seed, double tolerance)
    : state_(std::make_unique<State>(evaluator, std::move(mean), std::move(covariance), seed, tolerance)) {}
Refinement::~Refinement() = default;
Refinement::Refinement(Refinement&&) noexcept = default;
Refinement& Refinement::operator=(Refinement&&) noexcept = default;

RefinementStatus Refinement::status() const { return state_->status; }
const std::string& Refinement::stop_detail() const { return state_->stop_detail; }
double Refinement::elbo() const { return state_->elbo; }
std::int64_t Refinement::iterations() const { return state_->iteration; }
Index Refinement::pairs() const { return state_->pairs; }

Gaussian Refinement::posterior() const {
  const State& s = *state_;
  const IterateAverage& best = s.status == RefinementStatus::kConverged ? s.average : s.recent;
  const auto covariance = best.count > 0 ? s.at(best.value) : nullptr;
  return covariance ? covariance->gaussian(best.value.mean) : s.covariance->gaussian(s.mean);
}

std::optional<Refinement> Refinement::alternative() const {
  const State& s = *state_;
  const auto other = s.covariance->alternative(constants::kAlternativePromise * s.tolerance);
  if (!other) return std::nullopt;
  auto covariance = s.at({s.mean, *other});
  if (!covariance) return std::nullopt;
  return Refinement(s.evaluator, posterior().mean(), std::move(covariance), s.seed + 1, s.tolerance);
}

}  // namespace magva
