#pragma once
// Every constant of the default, in one place. None of them is chosen for a data set: they are numbers of draws,
// shares, or sizes in units that the posterior itself sets (nats, posterior sds).
#include <cstddef>
#include <cstdint>

#include "magva/types.hpp"

namespace magva::constants {

// Mode search
/// Pairs that L-BFGS remembers.
inline constexpr std::size_t kPairs = 20;
/// A pair is kept only if it has seen positive curvature, relative to its lengths.
inline constexpr double kPairCurvature = 1e-10;
/// A step must gain at least this share of what the slope promises.
inline constexpr double kArmijo = 1e-4;
/// A step must leave at most this share of the slope.
inline constexpr double kWolfe = .9;
/// Points that one line search tries.
inline constexpr int kLineSearchTrials = 30;
/// The search ends when the log density rose by less than kModeTolerance nats in kModeWindow iterations.
inline constexpr std::size_t kModeWindow = 8;
inline constexpr double kModeTolerance = 1e-3;
/// Iterations of one mode search.
inline constexpr int kModeIterations = 500;
/// Points of the way to the mode that are kept (between this and twice this).
inline constexpr std::size_t kPathPoints = 16;
/// Newton steps that polish a mode where the curvature is dense: L-BFGS may stop early where scales differ by 1e5.
inline constexpr int kNewtonSteps = 5;
/// A mode is found when a Newton step would gain less than this many nats.
inline constexpr double kNewtonDecrement = .05;

// Curvature
/// Largest m with a dense curvature: m^2 numbers and m gradients.
inline constexpr Index kDenseDimension = 2000;
/// Largest m with central differences, 2 m gradients; above it one-sided ones, m gradients.
inline constexpr Index kCentralDifferences = 500;
/// The first difference, relative to max(1, |theta_i|); later ones are in conditional posterior sds.
inline constexpr double kFirstDifference = 1e-4;
inline constexpr double kIdealDifference = .03;
inline constexpr double kSmallestDifference = 1e-4;
inline constexpr double kLargestDifference = .3;
/// Rounds in which differences that were too small or too large are taken again.
inline constexpr int kDifferencePasses = 5;
/// Smallest eigenvalue of a curvature with unit diagonal: correlations up to 1 - 1e-8 pass.
inline constexpr double kCurvatureFloor = 1e-8;
/// Rounds and probes of the diagonal's estimate where m is too large for a dense curvature.
inline constexpr int kSketchRounds = 2;
inline constexpr Index kSketchProbes = 32;
/// Lanczos steps beyond twice the number of eigenvectors wanted.
inline constexpr Index kLanczosExtra = 16;
/// The length of a Lanczos difference, in posterior sds.
inline constexpr double kSketchDifference = .1;
/// Smallest eigenvalue taken from the sketch: no factor starts with more than 100 times the residual variance.
inline constexpr double kSketchFloor = .01;

// Best low-rank Gaussian for a quadratic
/// Columns beyond the rank, and iterations a round, of the subspace iteration.
inline constexpr Index kSubspaceExtra = 8;
inline constexpr int kSubspaceIterations = 2;
/// Sweeps of coordinate ascent for the scales a round.
inline constexpr int kScaleSweeps = 3;
/// Rounds, and the gain in nats below which there is no further one.
inline constexpr int kQuadraticRounds = 60;
inline constexpr double kQuadraticTolerance = 1e-4;
/// The weakest factor has 1/kWeakestFactor - 1 times the residual variance: a factor of length zero never grows.
inline constexpr double kWeakestFactor = .98;

// Natural gradient steps
/// Damping of the Fisher metric, relative to it, and of its preconditioner.
inline constexpr double kMetricDamping = 1e-3;
inline constexpr double kPreconditionerDamping = 1e-2;
/// Conjugate gradients end after so many iterations, or with this share of the squared residual left.
inline constexpr int kSolveIterations = 15;
inline constexpr double kSolveTolerance = 1e-4;
/// Largest change of a log variance in one step.
inline constexpr double kLargestScaleStep = 1;
/// Largest squared length / 2 of a step in the Fisher metric: nats, or nats a parameter, whichever is more.
inline constexpr double kLargestStepNats = .5;
inline constexpr double kLargestStepShare = .1;
/// The control variate remembers at least kControlMemory m pairs, at least this share of all pairs seen, and never
/// takes more than kControlRate of its correction from one batch.
inline constexpr double kControlMemory = 2;
inline constexpr double kControlShare = .3;
inline constexpr double kControlRate = .5;

// Step sizes, batches, convergence
/// Antithetic pairs in the first batches: between these, about a quarter of m.
inline constexpr Index kFewestPairs = 8;
inline constexpr Index kFirstPairs = 16;
/// Most pairs in a batch.
inline constexpr Index kMostPairs = 4096;
/// The first step, and the largest.
inline constexpr double kFirstStep = .3;
inline constexpr double kLargestStep = .5;
/// The smallest step: where less would be right, the batch doubles instead.
inline constexpr double kSmallestStep = .1;
/// Iterations between two decisions on step and batch.
inline constexpr int kWindow = 8;
/// Windows at a stationary point, with one batch size, that make an epoch; its iterates are averaged.
inline constexpr int kEpochWindows = 3;
/// A step overshoots when the next gradient points back by more than this share of its own square.
inline constexpr double kOvershoot = .3;
/// The largest step is never cut below this, however often steps overshoot.
inline constexpr double kSmallestOvershootStep = .01;
/// Share of pairs without a finite log density at which the covariance shrinks, and by how much its sds shrink.
inline constexpr double kTooManyRejected = .5;
inline constexpr double kShrink = .7;
/// Draws, the same for both, with which a point ahead is compared with the averaged iterates.
inline constexpr Index kFewestProbeDraws = 100;
inline constexpr Index kMostProbeDraws = 2000;
/// How far ahead, in distances between the averages of two epochs, points are tried.
inline constexpr double kFurthestProbe = 32;
/// Shares of the tolerance: a point ahead that is better by this is taken; the noise of the averaged iterates, the
/// signal that is left (with two standard errors) and the drift between epochs must be below these.
inline constexpr double kProbeShare = .3;
inline constexpr double kFloorShare = .3;
inline constexpr double kSignalShare = .5;
inline constexpr double kDriftShare = .5;
/// What 'converged' promises: within this many nats of the family's best, or this many a parameter, if more.
inline constexpr double kToleranceNats = .1;
inline constexpr double kToleranceShare = .002;

}  // namespace magva::constants
