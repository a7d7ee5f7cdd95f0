#pragma once
// Stochastic natural gradient ascent of the ELBO from a start that need not be good: antithetic pairs, path
// derivatives, steps and batches that follow the noise, averaged iterates, and evidence that it has
// converged.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/evaluator.hpp"
#include "refine/expected_curvature.hpp"
#include "refine/step_control.hpp"

namespace magva {

/// Where a refinement starts.
struct GaussianStart {
  Vector mean;
  std::unique_ptr<Covariance> covariance;
  std::unique_ptr<ExpectedCurvature> curvature;  ///< null where none is known
};

/// Iterations between two decisions on step and batch.
inline constexpr int kWindow = 8;

/// Exhausted: the largest batches leave too much noise to tell whether it has converged.
enum class RefinementStatus { kRunning, kConverged, kDiverged, kExhausted };

/// A mean and a covariance's coordinates: what is averaged, compared and extrapolated.
struct Iterate {
  Vector mean;
  CovarianceTangent covariance;
};

class Refinement {
 public:
  /// `tolerance`: nats that 'converged' promises.
  Refinement(Evaluator& evaluator, GaussianStart start, std::uint64_t seed, double tolerance);
  /// One that has ended where other steps have found the best Gaussian. `detail`: why it is that, in a
  /// sentence.
  static Refinement converged_at(Evaluator& evaluator, GaussianStart best, std::uint64_t seed,
                                 double tolerance, std::int64_t iterations, std::string detail);
  ~Refinement();
  Refinement(Refinement&&) noexcept;
  Refinement& operator=(Refinement&&) noexcept;

  /// One batch and one step of mean and covariance; at the end of a window, decisions.
  void step();
  /// To the best iterate, by its own batch, with more draws from there on. False where there is none, or
  /// where it has gone back too often.
  bool go_back();
  RefinementStatus status() const;
  /// Why it ended, in a sentence.
  const std::string& stop_detail() const;
  /// The best Gaussian so far: averaged iterates where there are any.
  Gaussian posterior() const;
  /// Marginal sds, to within a factor of two or so: cheaper than the posterior where m is large.
  Vector rough_sd() const;
  /// A refinement from other factors than those that this one has found, where they promise more: a
  /// family of low rank may have several local maxima.
  std::optional<Refinement> alternative() const;
  /// From the last batch, with its standard error.
  double elbo() const;
  double elbo_se() const;
  std::int64_t iterations() const;
  /// What a noise-free step would gain, in nats, as the last window's gradients say; from above.
  double promised_gain() const;
  Index pairs() const;
  /// Draws of all batches.
  double draws() const;
  /// The signal that is left, its noise, and the noise floor of the last window, in nats.
  std::string describe_window() const;

  /// For a checkpoint, between two steps; read() gives back a refinement that goes on to the same bits.
  void save(io::ChecksummedWriter& out) const;
  static Refinement read(io::ChecksummedReader& in, Evaluator& evaluator);

 private:
  struct State;
  explicit Refinement(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace magva
