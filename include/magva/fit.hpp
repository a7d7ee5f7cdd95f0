#pragma once
// Fitting an approximation to a posterior: options, what observers see, the result, and the one function that
// does it.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "magva/algorithm1.hpp"
#include "magva/model.hpp"
#include "magva/posterior.hpp"

namespace magva {

/// Where a fit keeps what it needs to go on after an interruption or a crash.
struct CheckpointOptions {
  std::filesystem::path path;
  double every = 10;     ///< seconds between two
  bool resume = false;   ///< go on from the checkpoint in `path`: to the same bits as an uninterrupted run
  std::string identity;  ///< of the fit: a checkpoint that was saved under another one is refused
  std::function<std::string()> attach;              ///< what the caller keeps with it, such as a trace
  std::function<void(const std::string&)> restore;  ///< gets that back when a fit is resumed
};

/// What will be read off the result where that is not theta itself, such as parameters on a constrained
/// scale.
struct Quantities {
  std::vector<std::string> names;
  /// At draws of theta, one column per draw: one row per quantity. NaN where the model cannot say.
  std::function<Matrix(ConstMatrixRef theta)> at;
};

/// How the default fits a Minibatch.
struct MinibatchFitOptions {
  int passes = 8;   ///< over all rows before the minibatches, at most
  Index draws = 8;  ///< in a pass, and in an iteration; even
};

/// How expectations under a Gaussian are had.
enum class Expectations {
  kAutomatic,  ///< exactly where the model knows them (Model::expectations), else by draws
  kDraws,
  kExact,  ///< only of results: options ask for kAutomatic
};

/// Which shapes an approximation may have.
enum class ShapeChoice {
  kAutomatic,  ///< the Gaussian; another one where that is in doubt, and where it gains
  kGaussian,
  kSkewed,  ///< sinh-arcsinh transforms of a Gaussian
  kFlow,    ///< Sylvester flows
};
const char* to_string(ShapeChoice choice);
/// By the names that `to_string` gives; UsageError for any other.
ShapeChoice parse_shape(std::string_view name);

struct FitOptions {
  /// Factors; unset: as many as pay, up to full rank where m is small (4 for Algorithm 1). m or more is full
  /// rank.
  std::optional<Index> rank;
  std::optional<Vector> init;  ///< where to start; unset: the model's own start
  std::uint64_t seed = 1;
  int threads =
      0;  ///< 0: the machine's, where the model is large enough to gain; results do not depend on it
  double time_limit = std::numeric_limits<double>::infinity();  ///< seconds
  /// Unset: 5000 of Algorithm 1, 1000 on minibatches, and no limit for the default.
  std::optional<std::int64_t> max_iterations;
  /// Gradients of the default, without those of the assessment; 0: a generous number that grows with m.
  std::int64_t max_evaluations = 0;
  int starts = 4;                 ///< mode searches of the default: from `init` and from random points
  Index diagnostic_draws = 4000;  ///< fresh draws for ELBO and k-hat; a fit without draws needs fewer
  Expectations expectations = Expectations::kAutomatic;  ///< of the default
  /// Of the default on all rows. A shape that gains no more than the noise of its ELBO is dropped.
  ShapeChoice shape = ShapeChoice::kAutomatic;
  int layers = 4;  ///< of a flow

  std::optional<Algorithm1Options> algorithm1;  ///< fit by the paper's Algorithm 1 instead of the default
  MinibatchFitOptions minibatch;                ///< of the default, where the model is a Minibatch
  /// Of all ways but the default by exact expectations, which is done again, to the same bits, in seconds.
  std::optional<CheckpointOptions> checkpoint;
  std::optional<Quantities> quantities;  ///< by which the result is assessed, too

  /// max_evaluations, or what stands for 0.
  std::int64_t evaluation_limit(Index dimension) const;
  /// Every fault at once, each as 'field is value and must be rule'; empty where all is well.
  std::vector<std::string> validate(Index dimension) const;
};

/// What a fit is doing.
enum class Phase {
  kSearch,        ///< for modes
  kCurvature,     ///< of the log density there
  kQuadratic,     ///< the best Gaussians for that curvature
  kComparison,    ///< of several starts
  kRefinement,    ///< by natural gradients
  kAlternatives,  ///< refinement from other factors
  kSample,        ///< the fit to a sample of rows that comes before minibatches
  kPasses,        ///< over all rows
  kIterations,    ///< of Algorithm 1
  kAssessment,    ///< of the result
  kShape,         ///< a posterior of another shape than the Gaussian's
};
const char* to_string(Phase phase);

/// What observers see, after every iteration and several times a second.
struct FitView {
  Phase phase;
  std::int64_t iteration;             ///< of that phase
  std::int64_t gradient_evaluations;  ///< of the whole fit; a minibatch counts by its rows
  double seconds;
  double elbo;  ///< noisy estimate; NaN where there is none
};
/// False interrupts the fit, which then ends with the best result so far.
using Observer = std::function<bool(const FitView&)>;

enum class StopReason { kConverged, kIterationLimit, kTimeLimit, kInterrupted, kDiverged };
const char* to_string(StopReason reason);

enum class WarningKind {
  kNotConverged,     ///< the fit ended, or was ended, before it could promise anything
  kSeveralModes,     ///< another start found another mode with nearly as much mass
  kImproper,         ///< the log density does not fall off in some direction
  kHeavyTails,       ///< it falls only like a logarithm
  kRejectedDraws,    ///< it was not finite at some draws
  kNotFinite,        ///< the result's ELBO is not finite
  kKhat,             ///< importance weights have a heavy tail
  kFarFromGaussian,  ///< few draws carry all importance weight
  kReweighted,       ///< importance weights change a mean or an sd
  kNoGain,           ///< minibatches did not improve on the passes before them
};

struct Warning {
  WarningKind kind;
  std::string message;  ///< a sentence
};

/// A parameter whose posterior is not what the fit says.
struct Doubt {
  std::string parameter;
  double shift;     ///< of the posterior's mean, in sds of the fit
  double sd_ratio;  ///< the posterior's sd over the fit's
};

/// One rank that was considered.
struct RankStep {
  Index rank;
  double gain;  ///< expected nats over mean-field, from the curvature
};

/// One start, after its mode search.
struct StartReport {
  double log_density;  ///< at the end of the search
  bool converged;      ///< the search found a local maximum
  double elbo;  ///< of its Gaussian after a short refinement; NaN where it led to the same mode as another
};

/// One shape that was tried, the Gaussian first.
struct ShapeReport {
  std::string shape;
  double elbo;
  double elbo_se;
  bool trusted;
  std::size_t doubts;  ///< parameters in doubt
  bool kept;           ///< the result has this shape
};

struct FitResult {
  Gaussian posterior;                  ///< of theta; posterior.best() is the nearest to the posterior
  std::optional<FamilyKind> manifold;  ///< on which Algorithm 1 ran; unset where something else was run
  StopReason stopped;
  std::string stop_detail;  ///< why, in a sentence
  double elbo;
  double elbo_se;
  double khat;
  bool trusted;  ///< false: the warnings say why
  std::vector<Warning> warnings;
  std::vector<Doubt> doubts;  ///< the parameters that the warnings are about, and by how much
  std::vector<RankStep> rank_path;
  std::vector<StartReport> starts;
  std::int64_t iterations;
  std::int64_t gradient_evaluations;                 ///< of the fit, without those of the assessment
  std::int64_t rejected_draws;                       ///< draws whose log density or gradient was not finite
  double seconds;                                    ///< all of it, assessment included
  Expectations expectations = Expectations::kDraws;  ///< kExact: the ELBO is exact, and its standard error 0
  std::vector<ShapeReport> shapes = {};              ///< empty where none but the Gaussian was tried
  /// Of the logarithm of an sd by linear response, the largest of those that it changes most; 0 where no
  /// draws were used.
  double sd_se = 0;
  /// Of short chains of Hamiltonian Monte Carlo, whose means and sds posterior.best() has; 0: they are its
  /// own.
  Index chain_draws = 0;
};

/// Fits by the default, which needs no settings; by Algorithm 1 where options.algorithm1 is set; on
/// minibatches where the model is a Minibatch. The result is always assessed on the full model.
///
/// Throws UsageError for invalid options, and where the default is given a model with a noisy log density
/// that is no Minibatch; DataError where the log density is finite at no start.
FitResult fit(const Model& model, const FitOptions& options = {},
              const std::vector<Observer>& observers = {});

}  // namespace magva
