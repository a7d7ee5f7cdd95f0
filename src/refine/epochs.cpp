// The end of an epoch: is there anything left to gain?
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "refine/promise.hpp"
#include "refine/refinement_state.hpp"
#include "sparse/hessian_pattern.hpp"

namespace magva {

namespace {

/// Draws, the same for both, with which a point ahead is compared with the averaged iterates.
constexpr Index kFewestProbeDraws = 100;
constexpr Index kMostProbeDraws = 2000;
/// Numbers of such draws that are held at a time.
constexpr Index kProbeNumbers = 1 << 22;
/// Points ahead of a window are tried where its gradients are at least so many times one point's.
constexpr Index kProbesWorthIt = 4;
/// How far ahead, in distances between the averages of two epochs or the ends of two windows, points are
/// tried.
constexpr double kFurthestProbe = 128;
/// Shares of the tolerance: a point ahead that is better by this is taken; the noise of the averaged
/// iterates, the signal that is left (with two standard errors) and the drift between epochs must be below
/// these.
constexpr double kProbeShare = .1;
constexpr double kFloorShare = .2;
constexpr double kSignalShare = .2;
constexpr double kDriftShare = .5;
/// The same for the signal of the blocks that the covariance's steps leave out where m is large.
constexpr double kUnseenShare = .5;
/// Iterations of an epoch that are averaged.
constexpr double kAveragedIterations = 16;
/// Largest growth of a batch from one epoch to the next.
constexpr double kMostGrowth = 4;
/// So many times the largest batch are out of reach; a little less noise may come by itself. Then noise that
/// costs no more than so many times the tolerance is good enough for a result that has not converged, if no
/// step is known to gain more.
constexpr double kOutOfReach = 1.5;
constexpr double kGoodEnough = 1.5;
/// The same, and for what a step is known to gain, where so many windows together say so, or more.
constexpr double kShortOfPromise = 2;
constexpr double kTellingWindows = 3;
/// Noise, as a share of the tolerance, that a first epoch may leave where it ends the refinement: means are
/// then known to .02 sds or so, as those of most fits are after two.
constexpr double kFirstFloorShare = .002;
/// Drift that the noise of two averages explains, in units of that noise.
constexpr double kDriftNoise = 3;

/// log h - log q at the probes' draws of the given Gaussian, one number a draw, but for a constant. In
/// blocks: all draws at once would be too many numbers where m is large.
Vector log_weights(Evaluator& evaluator, ConstVectorRef mean, const Covariance& covariance,
                   const ProbeDraws& draws) {
  const Index block = std::max<Index>(1, kProbeNumbers / covariance.noise_size());
  Vector out(draws.count);
  for (Index first = 0; first < draws.count; first += block) {
    const Index count = std::min(block, draws.count - first);
    PairBatch batch;
    batch.noise.resize(covariance.noise_size(), count);
    draws.noise.fill(draws.iteration, static_cast<std::uint32_t>(first), batch.noise, evaluator.workers());
    covariance.draw(batch);
    const Matrix theta = batch.deviation.colwise() + mean;
    // The entropy is exact: -log q itself would only add noise that pairs cannot cancel.
    out.segment(first, count) = evaluator.evaluate_values(theta).array() + .5 * covariance.log_determinant();
  }
  return out;
}

Comparison compare_weights(const Vector& a, const Vector& b) {
  const Vector d = a - b;
  if (!d.allFinite()) return {-std::numeric_limits<double>::infinity(), 0};
  const auto n = static_cast<double>(d.size());
  return {d.mean(), std::sqrt((d.array() - d.mean()).square().sum() / (n - 1) / n)};
}

}  // namespace

std::unique_ptr<Covariance> Refinement::State::at(const Iterate& iterate) const {
  auto other = covariance->clone();
  if (!other->assign(iterate.covariance)) return nullptr;
  return other;
}

ProbeDraws Refinement::State::probe_draws() const {
  return {Noise(seed, NoiseStream::kEvaluation), static_cast<std::uint64_t>(iteration),
          std::clamp<Index>(2 * pairs, kFewestProbeDraws, kMostProbeDraws)};
}

Comparison Refinement::State::compare(ConstVectorRef around, const Covariance& there,
                                      const Covariance& here) const {
  const ProbeDraws draws = probe_draws();
  return compare_weights(log_weights(evaluator, around, there, draws),
                         log_weights(evaluator, around, here, draws));
}

bool Refinement::State::try_alternative(const Iterate& base) {
  const auto here = at(base);
  if (!curvature) return false;
  const auto other =
      curvature->alternative(*here->low_rank(), kAlternativePromise * tolerance, evaluator.control());
  const auto there = other ? at({base.mean, *other}) : nullptr;
  if (there == nullptr) return false;
  const Comparison found = compare(base.mean, *there, *here);
  if (!(found.difference > kProbeShare * tolerance && found.difference > 2 * found.se)) return false;
  mean = base.mean;
  covariance->assign(*other);
  return true;
}

bool Refinement::State::probe_ahead(const Iterate& from, const Iterate& base) {
  const auto here = at(base);
  const ProbeDraws draws = probe_draws();
  const Vector now = log_weights(evaluator, base.mean, *here, draws);
  bool better = false;
  Vector best = now;
  double ahead = 1;
  while (ahead <= kFurthestProbe) {
    Iterate there{base.mean + ahead * (base.mean - from.mean),
                  combine(1 + ahead, base.covariance, -ahead, from.covariance)};
    const auto candidate = at(there);
    if (candidate == nullptr) break;
    const Vector value = log_weights(evaluator, there.mean, *candidate, draws);
    const Comparison step = compare_weights(value, best);
    if (!(step.difference > 0)) break;
    const Comparison all = compare_weights(value, now);
    if (all.difference > kProbeShare * tolerance && all.difference > 2 * all.se) {
      mean = there.mean;
      covariance->assign(there.covariance);
      better = true;
    }
    best = value;
    ahead *= 2;
  }
  return better;
}

// Along a valley that bends, as that of a scale and the effects that it scales, natural gradients go in one
// direction for many iterations, by a little each. Hessians at all draws make these iterations dear; where
// there is no pattern they are not, and a look ahead would cost as much.
void Refinement::State::look_ahead() {
  const HessianPattern* pattern = covariance->pattern();
  if (pattern == nullptr) return;
  const Index cost = kWindow * 2 * pairs * (1 + pattern->colours());
  if (cost < kProbesWorthIt * probe_draws().count) return;
  const Iterate now{mean, covariance->coordinates(nullptr)};
  const auto before = window_end.mean.size() > 0 ? at(window_end) : nullptr;
  if (before && probe_ahead({window_end.mean, before->coordinates(&now.covariance)}, now))
    last_mean_step.resize(0);
  window_end = {mean, covariance->coordinates(nullptr)};
}

void Refinement::State::end_epoch() {
  const double n = average.count;
  const double noise = mean_gain.noise() + covariance_gain.noise();
  const double floor = noise / n;
  // What is left to gain, not what one step would: a bound on the curvature makes the mean's steps short.
  const WindowGain left = left_window.empty() ? mean_gain : summarise(left_window);
  const double signal = left.signal + covariance_gain.signal;
  const double se = std::hypot(left.signal_se, covariance_gain.signal_se);
  const WindowGain unseen = summarise(between_window);
  const Iterate now = average.value;
  bool moved = false;
  const auto here = at(now);
  const auto before = previous.mean.size() > 0 ? at(previous) : nullptr;
  if (here && before) moved = probe_ahead({previous.mean, before->coordinates(&now.covariance)}, now);
  if (here && !moved) moved = try_alternative(now);
  // No step loses: what is estimated to be below zero is noise.
  const bool calm = floor < kFloorShare * tolerance &&
                    std::max(0., signal) + 2 * se < kSignalShare * tolerance &&
                    std::max(0., unseen.signal) + 2 * unseen.signal_se < kUnseenShare * tolerance;
  if (calm && !moved && here && before) {
    const double drift = here->divergence_from(*before, now.mean - previous.mean);
    const bool from_start = previous_floor == 0;  // which has no noise
    if (drift < kDriftShare * tolerance + kDriftNoise * (floor + previous_floor) &&
        (!from_start || floor < kFirstFloorShare * tolerance)) {
      status = RefinementStatus::kConverged;
      stop_detail = fmt::format(
          "a noise-free step would gain {:.3g} nats (+- {:.2g}), the noise of the averaged iterates costs "
          "{:.3g}, and the "
          "{} differ by {:.3g}; promised is {:.3g}",
          signal + unseen.signal, std::hypot(se, unseen.signal_se), floor,
          from_start ? "start and average" : "averages of two runs of iterations", drift, tolerance);
      return;
    }
  }
  previous = now;
  if (moved) recent.clear();
  previous_floor = floor;
  // Where noise hides nothing, another epoch like this one will tell.
  if (!moved && !calm) take_more_draws(floor, std::hypot(se, unseen.signal_se));
  if (status == RefinementStatus::kRunning) restart_epoch();
}

Index Refinement::State::most_useful_pairs() const {
  const double floor = (mean_gain.noise() + covariance_gain.noise()) / kAveragedIterations;
  return useful_pairs(pairs, floor / tolerance, most_pairs());
}

Index useful_pairs(Index pairs, double noise, Index most) {
  const double size = static_cast<double>(pairs) * noise;
  if (size / kFloorShare <= kOutOfReach * static_cast<double>(most)) return most;
  const double enough = std::exp2(std::ceil(std::log2(size / kGoodEnough)));
  return static_cast<Index>(std::clamp(enough, static_cast<double>(pairs), static_cast<double>(most)));
}

void PairNoise::observe(Index pairs, double noise, double signal, double tolerance) {
  if (!(signal < kShortOfPromise * tolerance)) {
    *this = {};
    return;
  }
  const auto count = static_cast<double>(pairs);
  sum_ += count * count * noise;
  pairs_ += count;
}

bool PairNoise::known(Index pairs) const { return pairs_ >= kTellingWindows * static_cast<double>(pairs); }

double needed_pairs(const Outlook& outlook) {
  return outlook.noise_of_pair / kAveragedIterations / (kFloorShare * outlook.tolerance);
}

double cost_of_noise(const Outlook& outlook) {
  return outlook.noise_of_pair / kAveragedIterations / static_cast<double>(outlook.pairs);
}

bool ends_short_of_promise(const Outlook& outlook) {
  const double enough = kShortOfPromise * outlook.tolerance;
  return needed_pairs(outlook) > kOutOfReach * static_cast<double>(outlook.most_pairs) &&
         cost_of_noise(outlook) < enough && outlook.signal < enough;
}

bool Refinement::State::ends_short(double signal) {
  if (!pair_noise.known(pairs)) return false;
  const Outlook outlook{pair_noise.mean(), pairs, most_pairs(), signal, tolerance};
  if (!ends_short_of_promise(outlook)) return false;
  status = RefinementStatus::kExhausted;
  stop_detail = fmt::format(
      "with {} pairs of draws an iteration the noise of averaged iterates costs {:.3g} nats, and no step is "
      "known to gain more than {:.3g}; promised is {:.3g}, which takes {:.0f} pairs, more than there can be",
      pairs, cost_of_noise(outlook), kShortOfPromise * tolerance, tolerance, needed_pairs(outlook));
  return true;
}

// Noise and standard error of the signal fall like one over the draws.
void Refinement::State::take_more_draws(double floor, double signal_se) {
  const double by_floor = floor / (kFloorShare * tolerance);
  const double by_signal = 2 * signal_se / (kSignalShare * tolerance);
  const bool largest = pairs == most_pairs();
  // A standard error from one window may be large by bad luck; there is no other batch left to try.
  const double needed = (largest ? std::max(by_floor, by_signal) : by_floor) * static_cast<double>(pairs);
  const bool out_of_reach = needed > kOutOfReach * static_cast<double>(most_pairs());
  if (out_of_reach && (largest || floor < kGoodEnough * tolerance)) {
    status = RefinementStatus::kExhausted;
    stop_detail = fmt::format(
        "with {} pairs of draws an iteration the noise of the averaged iterates costs {:.3g} nats, and what "
        "a "
        "noise-free step would gain is known to +- {:.2g}; promised is {:.3g}, which takes {:.0f} pairs, "
        "more "
        "than there can be",
        pairs, floor, signal_se, tolerance, needed);
    return;
  }
  const double growth = std::clamp(std::exp2(std::ceil(std::log2(by_floor))), 2., kMostGrowth);
  pairs = std::min(static_cast<Index>(growth) * pairs, most_pairs());
}

std::string Refinement::describe_window() const {
  const State& s = *state_;
  return fmt::format(
      "with {} pairs of draws an iteration, a noise-free step would gain {:.3g} (+- {:.2g}) nats for the "
      "mean and {:.3g} "
      "(+- {:.2g}) for the covariance, and the noise costs {:.3g}",
      s.pairs, s.mean_gain.signal, s.mean_gain.signal_se, s.covariance_gain.signal,
      s.covariance_gain.signal_se,
      s.mean_control.noise_floor(s.mean_gain) + s.covariance_control.noise_floor(s.covariance_gain));
}

}  // namespace magva
