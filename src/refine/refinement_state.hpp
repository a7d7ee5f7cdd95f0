#pragma once
// What a refinement carries from one iteration to the next.
#include <limits>
#include <vector>

#include "core/noise.hpp"
#include "refine/promise.hpp"
#include "refine/refinement.hpp"
#include "refine/sketched_curvature.hpp"

namespace magva {

/// Other factors are tried where they promise this share of the tolerance.
inline constexpr double kAlternativePromise = .2;

/// Running average of iterates.
class IterateAverage {
 public:
  /// With equal weights.
  void add(ConstVectorRef mean, const Covariance& covariance) { add(mean, covariance, 1 / (count + 1)); }
  /// `weight`: the newest iterate's; the first one has all of it.
  void add(ConstVectorRef mean, const Covariance& covariance, double weight);
  void clear() { count = 0; }
  Iterate value;
  double count = 0;
};

/// Draws, always the same, by which Gaussians are compared.
struct ProbeDraws {
  Noise noise;
  std::uint64_t iteration;
  Index count;
};

/// Of two ELBOs, by the same draws.
struct Comparison {
  double difference;
  double se;
};

inline double inner(const Vector& gradient, const Vector& step) { return gradient.dot(step); }

/// Of a gradient, from the mean of two halves of a batch and half their difference.
template <typename Gradient, typename Natural>
Gain gain_of(const Gradient& mean, const Gradient& half_difference, const Natural& natural_gradient) {
  const double total = .5 * inner(mean, natural_gradient(mean));
  return {total - .5 * inner(half_difference, natural_gradient(half_difference)), total, 0};
}

struct Refinement::State {
  State(Evaluator& evaluator, GaussianStart start, std::uint64_t seed, double tolerance);

  /// Whether all parts have the sizes that they must have.
  bool consistent() const;
  bool draw_batch();
  /// Of the batch's pairs, where the covariance has a pattern.
  Matrix pair_curvatures();
  /// Sketches the expected curvature where there is none yet, or an old one, and m is too large for a dense
  /// one.
  void sketch_curvature();
  bool sketch_due() const;
  Index most_pairs() const;
  /// The largest batch that is of use, as noisy as gradients are now.
  Index most_useful_pairs() const;
  void take_step();
  Vector bounded_mean_step(const Vector& change) const;
  /// Mean and covariance, as far as the draws of the batch say that it leads up.
  void move(const Vector& mean_change, const CovarianceTangent& direction, double step);
  bool leads_down(double log_determinant_before);
  Vector mean_step(ConstVectorRef gradient) const;
  Vector longest_mean_step(ConstVectorRef gradient) const;
  CovarianceTangent natural_gradient(const CovarianceTangent& differential) const {
    return covariance->natural_gradient(differential, curvature.get());
  }
  void average_recent();
  /// Two independent estimates of the ELBO's differential for the covariance.
  std::pair<CovarianceTangent, CovarianceTangent> differentials(Index half);
  /// Forgets what the present epoch has gathered.
  void restart_epoch();
  void end_window();
  void end_epoch();
  /// As many as the noise of an epoch asks for: that of its averaged iterates, and the standard error of the
  /// signal. Ends the refinement where the largest batches are too small for it.
  void take_more_draws(double floor, double signal_se);
  /// Ends it where no batch is large enough for what is promised, as far as windows tell, and where noise
  /// costs little more than that and no step is known to gain more. `signal`: of the last window, less two
  /// standard errors.
  bool ends_short(double signal);
  /// Whether the last batch's ELBO has fallen from the best one by more than noise explains.
  bool collapsed() const;
  /// Keeps the best iterate; true where the present one has fallen so far below it that it has gone back
  /// there.
  bool rolled_back();
  /// Goes on from the best iterate with more draws; false where there is none, or it has done so too often.
  bool return_to_best();
  void recover_from_rejections();
  /// ELBO differences to `base` of points ahead on the way from `from` to `base`; moves there where it is
  /// better.
  bool probe_ahead(const Iterate& from, const Iterate& base);
  /// The same from the end of one window to that of the next, where that costs little beside a window.
  void look_ahead();
  /// Tries other factors than those that the iterates are at; moves there where they are better.
  bool try_alternative(const Iterate& base);
  /// What one covariance gains over another around a mean, by the probes' draws.
  Comparison compare(ConstVectorRef around, const Covariance& there, const Covariance& here) const;
  ProbeDraws probe_draws() const;
  std::unique_ptr<Covariance> at(const Iterate& iterate) const;

  Evaluator& evaluator;
  Vector mean;
  std::unique_ptr<Covariance> covariance;
  std::unique_ptr<ExpectedCurvature> curvature;  // null where none is known
  bool sketching;                                // the curvature is too large to be dense
  std::uint64_t seed;
  double tolerance;

  std::int64_t iteration = 0;
  std::optional<Gaussian> sketched;  // where the curvature was last sketched
  std::int64_t last_sketch = 0;      // at so many gradients
  std::int64_t sketch_cost = 0;      // in gradients
  Index pairs;
  StepControl mean_control, covariance_control;
  std::vector<Gain> mean_window, covariance_window;
  // Of an epoch, where the curvature is sketched: what the mean has left to gain, and what the blocks have
  // that the covariance's steps leave out.
  std::vector<Gain> left_window, between_window;
  Gain between;           // running average
  int quiet_windows = 0;  // windows of the present epoch
  WindowGain mean_gain, covariance_gain;
  IterateAverage average;
  IterateAverage recent;  // what a fit that has not converged returns
  double seen = 0;        // pairs
  PairNoise pair_noise;
  Iterate previous;  // the last epoch's average; before the first the start of full rank, or empty
  double previous_floor = 0;
  Iterate window_end;  // of the last window that was not quiet; empty where there was none
  double best_elbo = -std::numeric_limits<double>::infinity();  // of a batch
  double best_elbo_se = 0;
  Vector best_mean;
  std::unique_ptr<Covariance> best_covariance;
  int returns = 0;
  double elbo;  // of the last batch
  double elbo_se = 0;
  RefinementStatus status = RefinementStatus::kRunning;
  std::string stop_detail;

  PairBatch batch;
  Matrix theta, gradient;   // of a batch
  Vector pair_log_density;  // mean of the two of each pair
  Vector last_mean_step;
  CovarianceTangent last_direction;
};

}  // namespace magva
