#include "response/corrected_fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/elbo.hpp"
#include "core/noise.hpp"
#include "response/sampled_response.hpp"

namespace magva {

namespace {

/// Multiplications, at most: about a second.
constexpr double kMostResponseWork = 6e9;
/// Pairs of draws: at least as many as parameters, so that third derivatives are integrated exactly, and so
/// many; at most so many, and so many a parameter.
constexpr Index kFewestHessianPairs = 16;
constexpr Index kMostHessianPairs = 256;
constexpr Index kHessianPairsPerParameter = 2;
/// Where a fit of low rank goes on to full rank: steps, and pairs for the mean in each. What they leave of
/// the curvature's difference from Sigma^-1, with half as many pairs as parameters, the response takes in.
constexpr int kFullRankSteps = 3;
constexpr Index kMeanPairs = 512;
/// A response is that of the best Gaussian, and not of another one, if none is further off than this.
constexpr double kMostExcess = .5;
/// Sds whose standard errors are looked at: those that change most.
constexpr Index kCheckedSds = 16;
/// A correction counts if it is so many standard errors, and these are small: .05 of an sd.
constexpr double kSignificant = 3;
constexpr double kMostError = .05;
/// Draws of both Gaussians by which they are compared, and how many must be effective to tell.
constexpr Index kComparisonDraws = 500;
constexpr double kFewestTelling = 50;

std::uint64_t step_seed(std::uint64_t seed, int step) {
  return seed + (static_cast<std::uint64_t>(step) << 40U);
}

double largest_eigenvalue(const Matrix& symmetric) {
  return symmetric.selfadjointView<Eigen::Lower>().eigenvalues().cwiseAbs().maxCoeff();
}

/// The root of root (I - excess)^-1 root'; nothing where that is no covariance.
std::optional<Matrix> root_given(const Matrix& root, const Matrix& excess) {
  const Index m = root.rows();
  const Eigen::LLT<Matrix> precision(Matrix::Identity(m, m) - excess);
  if (precision.info() != Eigen::Success) return std::nullopt;
  const Matrix half = root * precision.matrixU().solve(Matrix::Identity(m, m));
  const Eigen::LLT<Matrix> covariance(half * half.transpose());
  if (covariance.info() != Eigen::Success) return std::nullopt;
  return Matrix(covariance.matrixL());
}

/// Mean of the log density's gradients at pairs of draws, times the covariance: a Newton step.
Vector newton_step(Evaluator& evaluator, const RootedGaussian& at, std::uint64_t seed) {
  const Index m = at.mean.size();
  Matrix noise(m, kMeanPairs);
  Noise(seed, NoiseStream::kRandomPoint).fill(0, 0, noise);
  Matrix theta(m, 2 * kMeanPairs);
  theta.leftCols(kMeanPairs) = at.root * noise;
  theta.rightCols(kMeanPairs) = -theta.leftCols(kMeanPairs);
  theta.colwise() += at.mean;
  Vector log_density(theta.cols());
  Matrix gradient(m, theta.cols());
  evaluator.evaluate(theta, log_density, gradient);
  return at.root * (at.root.transpose() * gradient.rowwise().mean());
}

Index step_pairs(Index m) { return std::max(kFewestHessianPairs, m / 2); }

std::int64_t full_rank_cost(Index m) {
  return kFullRankSteps * (sample_cost(m, step_pairs(m)) + 2 * kMeanPairs);
}

/// From the mean of a Gaussian of low rank, by Newton steps.
std::optional<RootedGaussian> go_on_to_full_rank(Evaluator& evaluator, const Gaussian& q,
                                                 std::uint64_t seed) {
  const Index m = q.dimension();
  Matrix covariance(m, m);
  for (Index i = 0; i < m; ++i) covariance.col(i) = q.covariance_row(i);
  RootedGaussian at{q.mean(), Matrix(covariance.llt().matrixL())};
  for (int step = 0; step < kFullRankSteps; ++step) {
    const auto sample = sample_hessians(evaluator, at, step_pairs(m), step_seed(seed, step));
    if (!sample) return std::nullopt;
    auto root = root_given(at.root, sample->mean);
    if (!root) return std::nullopt;
    at.root = std::move(*root);
    at.mean += newton_step(evaluator, at, step_seed(seed, step));
  }
  return at;
}

std::optional<RootedGaussian> best_full_rank(Evaluator& evaluator, const Gaussian& q, std::uint64_t seed) {
  if (q.is_dense()) return RootedGaussian{q.mean(), q.factors()};
  return go_on_to_full_rank(evaluator, q, seed);
}

/// 0 where so many gradients are too few, or where the response would take too long.
Index affordable_pairs(const Gaussian& q, std::int64_t gradients) {
  const Index m = q.dimension();
  const std::int64_t left = gradients - (q.is_dense() ? 0 : full_rank_cost(m));
  const Index pairs =
      std::min<Index>(left / sample_cost(m, 1), std::max(kMostHessianPairs, kHessianPairsPerParameter * m));
  const Index fewest = std::max(kFewestHessianPairs, m);
  if (pairs < fewest || sampled_response_work(m, fewest) > kMostResponseWork) return 0;
  const auto most = static_cast<Index>(kMostResponseWork / sampled_response_work(m, 1));
  return std::min(pairs, most);
}

/// Of the logarithms of the sds that change most, the largest.
double largest_se(const HessianSample& sample, const SampledResponse& response, const Matrix& root,
                  const Vector& change) {
  std::vector<Index> order(static_cast<std::size_t>(change.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return std::abs(change(a)) > std::abs(change(b)); });
  order.resize(static_cast<std::size_t>(std::min(kCheckedSds, change.size())));
  double largest = 0;
  for (const Index i : order) {
    const Vector tilt = root.row(i);
    const double variance = tilt.dot(response.covariance * tilt);
    largest = std::max(largest, .5 * response_se(sample, response, tilt) / variance);
  }
  return largest;
}

std::optional<SampledCorrection> significant_correction(Evaluator& evaluator, const Gaussian& q,
                                                        const FitEnding& ending, std::int64_t gradients,
                                                        std::uint64_t seed) {
  if (ending.stopped != StopReason::kConverged) return std::nullopt;
  auto found = correct_by_response(evaluator, q, gradients, seed);
  if (!found || !(found->change > kSignificant * found->se) || !(found->se < kMostError)) return std::nullopt;
  if (!no_further(evaluator, q, found->corrected, seed)) return std::nullopt;
  return found;
}

}  // namespace

std::optional<SampledCorrection> correct_by_response(Evaluator& evaluator, const Gaussian& q,
                                                     std::int64_t gradients, std::uint64_t seed) {
  const Index pairs = affordable_pairs(q, gradients);
  if (pairs == 0) return std::nullopt;
  const auto best = best_full_rank(evaluator, q, seed);
  if (!best) return std::nullopt;
  const auto sample = sample_hessians(evaluator, *best, pairs, step_seed(seed, kFullRankSteps));
  if (!sample || largest_eigenvalue(sample->mean) > kMostExcess) return std::nullopt;
  const auto response = linear_response(*sample);
  if (!response) return std::nullopt;
  const Matrix covariance = best->root * response->covariance * best->root.transpose();
  const Eigen::LLT<Matrix> factor(.5 * (covariance + covariance.transpose()));
  if (factor.info() != Eigen::Success) return std::nullopt;
  const Vector change = .5 * covariance.diagonal().array().log() - q.sd().array().log();
  return SampledCorrection{Gaussian::dense(best->mean, factor.matrixL()), change.cwiseAbs().maxCoeff(),
                           largest_se(*sample, *response, best->root, change)};
}

// KL(p || q) - KL(p || corrected) = E_p[log corrected - log q], with draws of both as one proposal.
bool no_further(Evaluator& evaluator, const Gaussian& q, const Gaussian& corrected, std::uint64_t seed) {
  Matrix theta(q.dimension(), 2 * kComparisonDraws);
  theta.leftCols(kComparisonDraws) = elbo_draws(q, seed, 0, kComparisonDraws, evaluator.workers());
  theta.rightCols(kComparisonDraws) =
      elbo_draws(corrected, seed, kComparisonDraws, kComparisonDraws, evaluator.workers());
  const Vector log_density = evaluator.evaluate_values(theta);
  const Vector before = q.log_density(theta);
  const Vector gain = corrected.log_density(theta) - before;
  const Vector log_weights = log_density - before - (.5 * (1 + gain.array().exp())).log().matrix();
  if (!log_weights.array().isFinite().any()) return false;
  const SmoothedWeights weights = smooth_weights(log_weights);
  if (weights.effective < kFewestTelling) return true;
  const Vector share = weights.log_weights.array().exp();
  const double mean = share.dot(gain);
  const double se = std::sqrt(share.cwiseAbs2().dot((gain.array() - mean).square().matrix()));
  return mean > -2 * se;
}

AssessedGaussian assess_with_response(Evaluator& evaluator, const Gaussian& q, const FitEnding& ending,
                                      AssessmentOptions options, std::int64_t gradients) {
  std::optional<ElboEstimate> fitted;
  Gaussian posterior = q;
  double sd_se = 0;
  Control* control = evaluator.control();
  if (control != nullptr) control->enter(Phase::kAssessment);
  try {
    if (const auto found = significant_correction(evaluator, q, ending, gradients, options.seed + 3)) {
      fitted = estimate_elbo(evaluator, q, options.draws, options.seed + 1);
      posterior = q.with_correction(found->corrected);
      sd_se = found->se;
    }
  } catch (const Stopped&) {  // assess() says what that means
  }
  Assessment assessment = assess_correction(evaluator, posterior, ending, options);
  if (posterior.has_correction() && fitted) {
    assessment.elbo = fitted->elbo;
    assessment.elbo_se = fitted->se;
  }
  if (!posterior.has_correction()) sd_se = 0;
  return {std::move(posterior), std::move(assessment), sd_se};
}

}  // namespace magva
