#pragma once
// Every constant of the default, in one place. None of them is chosen for a data set: they are numbers of
// draws, shares, or sizes in units that the posterior itself sets (nats, posterior sds).
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
inline constexpr int kLineSearchTrials = 20;
/// Points that a whole search tries at most, for each iteration that it may take.
inline constexpr int kSearchTrials = 3;
/// The search ends when the log density rose by less than kModeTolerance nats in kModeWindow iterations.
inline constexpr std::size_t kModeWindow = 8;
inline constexpr double kModeTolerance = 1e-3;
/// Iterations of one mode search, and where the dense curvature will finish it.
inline constexpr int kModeIterations = 300;
inline constexpr int kRoughModeIterations = 100;
/// Points of the way to the mode that are kept (between this and twice this).
inline constexpr std::size_t kPathPoints = 16;
/// Rounds of curvature and further search, and iterations of each, that polish a mode where the curvature is
/// dense: plain L-BFGS may stop early where scales differ by 1e5.
inline constexpr int kPolishRounds = 2;
inline constexpr int kPolishIterations = 100;
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
/// Lanczos iteration has seen the whole space where the next vector is this short.
inline constexpr double kLanczosBreak = 1e-10;
/// The length of a Lanczos difference, in posterior sds.
inline constexpr double kSketchDifference = .1;
/// Smallest eigenvalue taken from the sketch, with the bound of its error: a factor on which all of 100,000
/// parameters depend has about 100,000 times their residual variance.
inline constexpr double kSketchFloor = 1e-6;

/// Lanczos steps, and antithetic pairs of draws, of a sketch of the expected curvature during the refinement.
inline constexpr Index kSketchSteps = 40;
inline constexpr Index kSketchPairs = 16;
/// Lanczos steps in search of the largest eigenvalue that is left.
inline constexpr Index kRestSteps = 8;
/// The length of its differences, in posterior sds: the curvature of a step in the log density is seen by few
/// draws, and by all differences as wide as the posterior (E[z g(z)] by its two-point rule, z = +-1).
inline constexpr double kSecantLength = 1;
/// An eigenvalue has been found where its error is below this share of it.
inline constexpr double kRitzError = .2;
/// Standard errors of an eigenvalue that are added to it for a bound.
inline constexpr double kRitzNoise = 1;
/// Least curvature, relative to Sigma^-1, that the mean's steps assume.
inline constexpr double kNewtonFloor = .05;
/// A sketch is renewed after so many times the gradients that it took; or after a kSketchShare-th of them
/// where the Gaussian has moved by so many nats a parameter.
inline constexpr std::int64_t kSketchInterval = 4;
inline constexpr std::int64_t kSketchShare = 4;
inline constexpr double kSketchNats = .02;

// Best low-rank Gaussian for a quadratic
/// Columns beyond the rank, and iterations, of the subspace iteration that finds a start.
inline constexpr Index kSubspaceExtra = 8;
inline constexpr int kSubspaceIterations = 6;
/// L-BFGS runs, iterations of each, and the gain in nats of a run below which there is no further one.
inline constexpr int kQuadraticRestarts = 20;
inline constexpr int kQuadraticIterations = 1000;
inline constexpr double kQuadraticTolerance = 1e-3;
/// Least residual sd, in conditional sds: its square costs less than 1e-4 nats a parameter.
inline constexpr double kResidualFloor = .01;
/// Random places from which the highest top is sought: so many, or where m is large so many as m^2 p times
/// their number reaches kTopEffort; and half as many disturbances of the best.
inline constexpr Index kMostTops = 24;
inline constexpr double kTopEffort = 1e7;
/// The weakest factor has 1/kWeakestFactor - 1 times the residual variance: a factor of length zero never
/// grows.
inline constexpr double kWeakestFactor = .98;

// Natural gradient steps
/// Damping of the Fisher metric, relative to it, and of its preconditioner.
inline constexpr double kMetricDamping = 1e-3;
inline constexpr double kPreconditionerDamping = 1e-2;
/// Conjugate gradients end after so many iterations, or with this share of the squared residual left.
inline constexpr int kSolveIterations = 15;
inline constexpr double kSolveTolerance = 1e-4;
/// Iterations that estimate the largest relative change of a variance.
inline constexpr int kPowerIterations = 12;
/// Dampings, each four times the one before, that are tried to make the learned curvature positive definite.
inline constexpr int kNewtonDampings = 5;
/// Largest noise, relative to Sigma^-1, that is assumed of the learned curvature.
inline constexpr double kMostControlNoise = 10;
/// Largest relative change of a variance, or change of its logarithm, in one step.
inline constexpr double kLargestScaleStep = 1;
/// Largest squared length / 2 of a step of the mean: nats, or nats a parameter, whichever is more.
inline constexpr double kLargestStepNats = .5;
inline constexpr double kLargestStepShare = .1;
/// The control variate remembers at least kControlMemory m pairs, at least this share of all pairs seen, and
/// never takes more than kControlRate of its correction from one batch.
inline constexpr double kControlMemory = 2;
inline constexpr double kControlShare = .3;
inline constexpr double kControlRate = .5;
/// It starts again where it leaves this many times the squared residual that the path derivative leaves.
inline constexpr double kControlAstray = 10;

// Step sizes, batches, convergence
/// Antithetic pairs in the first batches: between these, about a quarter of m.
inline constexpr Index kFewestPairs = 8;
inline constexpr Index kFirstPairs = 16;
/// An iterate has collapsed where its ELBO has fallen below the best by kCollapseNats, this share of the
/// best's size, and this many nats a parameter: it goes back, at most kMostReturns times, with kReturnPairs
/// the pairs.
inline constexpr double kCollapseNats = 20;
inline constexpr double kCollapseShare = .5;
inline constexpr int kMostReturns = 6;
inline constexpr Index kReturnPairs = 2;
/// Most pairs in a batch, and most numbers in one of a batch's matrices: 128 MiB.
inline constexpr Index kMostPairs = 4096;
inline constexpr Index kMostBatchNumbers = 1 << 24;
/// The largest and the smallest step. Where less than kScarceStep would be right for both mean and
/// covariance, the batch doubles; where more than kAbundantStep would be, it halves.
inline constexpr double kAbundantStep = .7;
inline constexpr double kLargestStep = .5;
inline constexpr double kSmallestStep = .05;
inline constexpr double kScarceStep = .1;
/// Weight of the newest iteration in the running averages from which steps are set.
inline constexpr double kGainWeight = .25;
/// Iterations between two decisions on step and batch.
inline constexpr int kWindow = 8;
/// Windows at a stationary point, with one batch size, that make an epoch; its iterates are averaged.
inline constexpr int kEpochWindows = 3;
/// A fit that has not converged returns an average of recent iterates, of at most this share of all pairs.
inline constexpr double kRecentShare = .15;
/// A step overshoots when the next gradient points back by more than this share of its own square.
inline constexpr double kOvershoot = .3;
/// What is then left of the step, which becomes the largest, and how the largest recovers with every
/// iteration.
inline constexpr double kOvershootCut = .6;
inline constexpr double kOvershootRecovery = 1.02;
/// Share of pairs without a finite log density at which the covariance shrinks, and by how much its sds
/// shrink.
inline constexpr double kTooManyRejected = .5;
inline constexpr double kShrink = .7;
/// Draws, the same for both, with which a point ahead is compared with the averaged iterates.
inline constexpr Index kFewestProbeDraws = 100;
inline constexpr Index kMostProbeDraws = 2000;
/// Numbers of such draws that are held at a time.
inline constexpr Index kProbeNumbers = 1 << 22;
/// How far ahead, in distances between the averages of two epochs, points are tried.
inline constexpr double kFurthestProbe = 128;
/// Shares of the tolerance: a point ahead that is better by this is taken; a signal below this counts as
/// none; the noise of the averaged iterates, the signal that is left (with two standard errors) and the drift
/// between epochs must be below these.
inline constexpr double kProbeShare = .1;
inline constexpr double kQuietShare = .1;
inline constexpr double kFloorShare = .2;
inline constexpr double kSignalShare = .2;
inline constexpr double kDriftShare = .5;
/// The same for the signal of the blocks that the covariance's steps leave out where m is large.
inline constexpr double kUnseenShare = .5;
/// Drift that the noise of two averages explains, in units of that noise.
inline constexpr double kDriftNoise = 3;
/// Shares of Sigma^-1 in the learned curvature, the first that makes it positive definite, for which other
/// factors are sought before a fit may converge; they are tried where they promise this share of the
/// tolerance.
inline constexpr double kAlternativeShares[] = {.05, .2, .5};
inline constexpr double kAlternativePromise = .2;
/// How often a converged fit may move to another top.
inline constexpr int kMostAlternatives = 3;
/// Draws by which the ELBOs of two converged fits are compared, the same for both.
inline constexpr Index kAlternativeDraws = 4000;
/// What 'converged' promises: within this many nats of the family's best, or this many a parameter, if more.
inline constexpr double kToleranceNats = .1;
inline constexpr double kToleranceShare = .002;

// Starts
/// Two evaluations at one point may differ by this share: sums in any order do.
inline constexpr double kRoundingNoise = 1e-9;
/// Points tried for finite log densities, and their sd around the model's own start.
inline constexpr int kStartTrials = 100;
inline constexpr double kStartSpread = 1.2;
/// Points of a path whose local Gaussians are compared, and draws for each.
inline constexpr std::size_t kPathTrials = 8;
inline constexpr Index kPathDraws = 20;
/// Two modes are one where their squared distance, in the curvature's metric, is below this share of m.
inline constexpr double kSamePlace = .2;
/// A search that ends so many nats a parameter (and ten more parameters) below a known mode leads nowhere.
inline constexpr double kHopelessNats = 10;
/// Largest m for which the way to a mode that was found is searched, too, for a better start.
inline constexpr Index kPathDimension = 40;
/// Most candidates that are refined side by side, and iterations of each before the best is chosen.
inline constexpr std::size_t kMostCandidates = 5;
inline constexpr int kRaceIterations = 24;
/// Draws for the ELBO by which they are compared.
inline constexpr Index kRaceDraws = 400;
/// A candidate within so many nats of the best is refined to the end: it may be another mode.
inline constexpr double kRivalNats = 6;
/// Iterations, at most, for which a rival is refined before it counts as another mode.
inline constexpr int kRivalIterations = 400;
/// Two Gaussians are different modes where a mean differs by this many sds of both.
inline constexpr double kModesApart = 3;
/// Their masses differ by a factor exp(kModeNats) where the smaller mode is not worth a warning.
inline constexpr double kModeNats = 4;

/// Factors by which the sds of a start may shrink, and draws for each: a mode's curvature says nothing of how
/// wide the posterior is.
inline constexpr double kStartScales[] = {1, .5, .25, .1, .03};
inline constexpr Index kStartScaleDraws = 16;

// Rank
/// Up to this m the covariance is full rank: m^2/2 numbers cost less than the choice of a rank would.
inline constexpr Index kFullRankDimension = 128;
/// Doubling the rank must gain this many nats, or nats a parameter, whichever is more.
inline constexpr double kRankGainNats = 1;
inline constexpr double kRankGainShare = .005;
/// Most factors, and most that are taken from a sketch of the curvature: so many at first, and the most where
/// all of these pay.
inline constexpr Index kMostFactors = 64;
inline constexpr Index kFirstSketched = 16;
inline constexpr Index kMostSketched = 64;
/// Size of a random factor relative to the residual sds, where the curvature gives none.
inline constexpr double kRandomFactor = .1;
/// Posterior sds assumed where there is no curvature: the steps, of up to a factor e each, find the right
/// ones.
inline constexpr double kBlindSd = .1;

// Effort
/// Gradients before the fit gives up: so many, and so many a parameter.
inline constexpr std::int64_t kEvaluations = 1'000'000;
inline constexpr std::int64_t kEvaluationsPerParameter = 600;
/// A posterior sd that grows past this many times its scale at the start has no bound.
inline constexpr double kRunawayGrowth = 1e4;
/// Share of rejected draws above which a warning, and a result not to be trusted, are due.
inline constexpr double kRejectedWarning = .01;
inline constexpr double kRejectedPoor = .2;

// Trust
/// Draws for the reported ELBO and k-hat, and at most so many after an interrupt.
inline constexpr Index kElboDraws = 4000;
inline constexpr Index kHurriedDraws = 200;
/// Above the first k-hat a fit is doubtful, above the second poor.
inline constexpr double kDoubtfulKhat = .7;
inline constexpr double kPoorKhat = 1;
/// Importance weights may leave exp(-kLostNats) of the draws effective, a tenth, or exp(-kLostShare) for
/// every parameter: small differences in many directions add up.
inline constexpr double kLostNats = 2.3;
inline constexpr double kLostShare = .1;
/// A fit whose log weights have a smaller sd is close, whatever their tail: its KL divergence, about half the
/// square, is then below an eighth of a nat.
inline constexpr double kCloseSpread = .5;
/// Draws in the pool of a resampling, per draw returned.
inline constexpr Index kResamplePool = 10;
/// Tails are probed at kTailRadii radii of which the first, in sds, is kFirstTailRadius and each next is
/// twice as far.
inline constexpr int kTailRadii = 4;
inline constexpr double kFirstTailRadius = 16;
/// Principal axes and coordinates, at most, along which they are probed.
inline constexpr Index kTailFactors = 16;
inline constexpr Index kTailCoordinates = 128;
/// A change of less than this many nats over a doubled radius is none.
inline constexpr double kFlatNats = .05;
/// Per doubled radius the fall itself doubles where tails are exponential and stays where they are a power
/// law.
inline constexpr double kHeavyGrowth = 1.5;
/// A log density that has fallen by more than this at the last radius has light tails in all but name.
inline constexpr double kLightFall = 100;

}  // namespace magva::constants
