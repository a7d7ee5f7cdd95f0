#include "refine/start.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/noise.hpp"
#include "search/quadratic_fit.hpp"
#include "sparse/positive_precision.hpp"
#include "sparse/sparse_precision.hpp"

namespace magva {

namespace {

/// Most factors that are taken from a sketch of the curvature: so many at first, and the most where all of
/// these pay.
constexpr Index kFirstSketched = 16;
constexpr Index kMostSketched = 64;
/// Size of a random factor relative to the residual sds, where the curvature gives none.
constexpr double kRandomFactor = .1;
/// Factors by which the sds of a start may shrink, and draws for each: a mode's curvature says nothing of how
/// wide the posterior is.
constexpr double kStartScales[] = {1, .5, .25, .1, .03};
constexpr Index kStartScaleDraws = 16;
/// Bounds of a parameter's sd, given all others, that are tried for a start: so many times its own size, and
/// at least so much. Where a parameter hardly matters, as the scale of an effect that is nearly zero, its
/// curvature says next to nothing, and draws that follow it overflow.
constexpr double kStartBounds[] = {10, 3, 1};
/// A gain over mean-field, in nats, below which there are no correlations.
constexpr double kNoCorrelation = .01;

Matrix random_start(Index m, Index columns, std::uint64_t seed) {
  Matrix out(m, columns);
  Noise(seed, NoiseStream::kFactors).fill(0, 0, out);
  return out;
}

/// On the diagonal of a pattern, where there is one.
GaussianStart from_sds(Evaluator& evaluator, const Vector& mean, const Vector& sd,
                       const CovarianceShape& shape, std::uint64_t seed) {
  const Index m = mean.size();
  const Index rank = shape.choice.rank;
  if (shape.pattern) {
    Vector values = Vector::Zero(shape.pattern->entries());
    shape.pattern->add_to_diagonal(sd.cwiseAbs2().cwiseInverse(), values);
    if (auto covariance = make_sparse_precision(shape.pattern, std::move(values)))
      return {mean, std::move(covariance), nullptr};
  }
  if (rank >= m) return {mean, make_full_rank(Matrix(sd.cwiseAbs2().cwiseInverse().asDiagonal())), nullptr};
  Matrix factors = kRandomFactor * (sd.asDiagonal() * random_start(m, rank, seed));
  return {mean, make_low_rank(std::move(factors), sd, evaluator.workers()), nullptr};
}

GaussianStart from_curvature(Evaluator& evaluator, const Vector& mean, Matrix curvature, Index rank,
                             const Vector& added) {
  curvature.diagonal() += added;
  if (rank >= mean.size()) return {mean, make_full_rank(curvature), nullptr};
  QuadraticFit fit = QuadraticFitter(curvature, evaluator.control()).best(rank);
  return {mean, make_low_rank(std::move(fit.factors), fit.residual_sd, evaluator.workers()),
          make_dense_curvature(curvature)};
}

/// Nothing where there is none, or where it would be too large.
std::optional<Matrix> dense_form(const Candidate& candidate) {
  const Index m = candidate.centre.theta.size();
  if (candidate.precision && m <= kDenseDimension) return candidate.precision->times(Matrix::Identity(m, m));
  return candidate.curvature;
}

Vector pattern_curvature(Evaluator& evaluator, const Candidate& candidate, const HessianPattern& pattern) {
  if (candidate.precision) return candidate.precision->values();
  if (candidate.curvature) return pattern.entries_of(*candidate.curvature);
  const Vector length = kFirstDifference * candidate.centre.theta.cwiseAbs().cwiseMax(1);
  return pattern.curvature(evaluator, candidate.centre.theta, candidate.centre.gradient, length, {1}).col(0);
}

/// Full rank, which a sparse Hessian makes cheap; unset where its curvature is not finite, or shows no
/// correlations.
std::optional<CovarianceShape> sparse_shape(Evaluator& evaluator, const Candidate& candidate,
                                            const std::shared_ptr<const HessianPattern>& pattern) {
  const Index m = evaluator.dimension();
  const auto covariance = make_sparse_precision(
      pattern, make_positive(*pattern, pattern_curvature(evaluator, candidate, *pattern)).precision);
  if (!covariance) return std::nullopt;
  const double gain = .5 * covariance->log_determinant() - covariance->conditional_sd().array().log().sum();
  if (gain < kNoCorrelation) return std::nullopt;
  return CovarianceShape{{m, {{0, 0.}, {m, gain}}}, std::nullopt, pattern};
}

GaussianStart from_sketch(Evaluator& evaluator, const Vector& mean, const CurvatureSketch& sketch, Index rank,
                          const Vector& added, std::uint64_t seed) {
  const Vector sd = (sketch.diagonal + added).cwiseSqrt().cwiseInverse();
  Matrix factors(mean.size(), rank);
  const Index known = std::min(rank, sketch.values.size());
  factors.leftCols(known) = sketch.directions.leftCols(known) *
                            (sketch.values.head(known).cwiseMin(kWeakestFactor).cwiseInverse().array() - 1)
                                .sqrt()
                                .matrix()
                                .asDiagonal();
  if (known < rank)
    factors.rightCols(rank - known) =
        kRandomFactor * (sd.asDiagonal() * random_start(mean.size(), rank - known, seed));
  return {mean, make_low_rank(std::move(factors), sd, evaluator.workers()), nullptr};
}

/// The best ELBO of the Gaussian at several scales, the same draws for all, and the scale; entropies are
/// exact.
struct ScaledElbo {
  double elbo = -std::numeric_limits<double>::infinity();
  double scale = 1;
};
ScaledElbo best_scale(Evaluator& evaluator, const GaussianStart& start, std::uint64_t seed) {
  const Index m = start.mean.size();
  PairBatch batch;
  batch.noise.resize(start.covariance->noise_size(), kStartScaleDraws);
  Noise(seed, NoiseStream::kEvaluation).fill(0, 0, batch.noise, evaluator.workers());
  start.covariance->draw(batch);
  ScaledElbo best;
  for (const double scale : kStartScales) {
    const Matrix theta = (scale * batch.deviation).colwise() + start.mean;
    Vector log_density(kStartScaleDraws);
    Matrix gradient(m, kStartScaleDraws);
    evaluator.evaluate(theta, log_density, gradient);
    const Index finite = log_density.array().isFinite().count();
    if (finite < kStartScaleDraws - kStartScaleDraws / 4) continue;
    const double elbo =
        log_density.array().isFinite().select(log_density.array(), 0).sum() / static_cast<double>(finite) +
        .5 * start.covariance->log_determinant() + static_cast<double>(m) * std::log(scale);
    if (!(elbo > best.elbo)) break;
    best = {elbo, scale};
  }
  return best;
}

/// What is known of the conditional sds at a candidate; empty where nothing is.
Vector conditional_sd(const Candidate& candidate, const CovarianceShape& shape, const GaussianStart& start) {
  if (candidate.has_curvature()) return candidate.curvature_diagonal().cwiseSqrt().cwiseInverse();
  if (shape.pattern) return start.covariance->conditional_sd();
  return shape.sketch ? Vector(shape.sketch->diagonal.cwiseSqrt().cwiseInverse()) : Vector();
}

/// The Gaussian for the quadratic at a candidate with a precision added to the diagonal of its curvature.
GaussianStart start_with(Evaluator& evaluator, const Candidate& candidate, const CovarianceShape& shape,
                         const Vector& added, std::uint64_t seed) {
  const Vector& mean = candidate.centre.theta;
  const Index rank = shape.choice.rank;
  if (shape.pattern) {
    Vector curvature = pattern_curvature(evaluator, candidate, *shape.pattern);
    shape.pattern->add_to_diagonal(added, curvature);
    if (auto covariance =
            make_sparse_precision(shape.pattern, make_positive(*shape.pattern, curvature).precision))
      return {mean, std::move(covariance), nullptr};
  }
  if (const auto curvature = dense_form(candidate))
    return from_curvature(evaluator, mean, *curvature, rank, added);
  if (shape.sketch) return from_sketch(evaluator, mean, *shape.sketch, rank, added, seed);
  return from_sds(evaluator, mean, Vector::Constant(mean.size(), kBlindSd), shape, seed);
}

}  // namespace

CovarianceShape choose_shape(Evaluator& evaluator, const Candidate& candidate, std::optional<Index> rank,
                             const std::shared_ptr<const HessianPattern>& pattern, std::uint64_t seed) {
  const Index m = evaluator.dimension();
  if (pattern && rank.value_or(m) >= m)
    if (auto sparse = sparse_shape(evaluator, candidate, pattern)) return *std::move(sparse);
  CovarianceShape shape{{m <= kFullRankDimension ? m : 0, {}}, std::nullopt, nullptr};
  if (m > kDenseDimension) {
    const Index most = std::min(rank.value_or(kFirstSketched), kMostSketched);
    shape.sketch = sketch_curvature(evaluator, candidate.centre, most, seed);
    if (!rank && choose_rank(*shape.sketch).rank == most)
      shape.sketch = sketch_curvature(evaluator, candidate.centre, kMostSketched, seed);
  }
  if (rank)
    shape.choice = {std::min(*rank, m), {{std::min(*rank, m), std::numeric_limits<double>::quiet_NaN()}}};
  else if (const auto curvature = dense_form(candidate))
    shape.choice = choose_rank(QuadraticFitter(*curvature, evaluator.control()), m);
  else if (shape.sketch)
    shape.choice = choose_rank(*shape.sketch);
  return shape;
}

GaussianStart quadratic_start(Evaluator& evaluator, const Candidate& candidate, const CovarianceShape& shape,
                              std::uint64_t seed) {
  return start_with(evaluator, candidate, shape, Vector::Zero(candidate.centre.theta.size()), seed);
}

GaussianStart make_start(Evaluator& evaluator, const Candidate& candidate, const CovarianceShape& shape,
                         std::uint64_t seed) {
  GaussianStart start = quadratic_start(evaluator, candidate, shape, seed);
  ScaledElbo best = best_scale(evaluator, start, seed);
  const Vector size = candidate.centre.theta.cwiseAbs().cwiseMax(1);
  const Vector sd = conditional_sd(candidate, shape, start);
  const auto try_instead = [&](GaussianStart other) {
    const ScaledElbo found = best_scale(evaluator, other, seed);
    if (!(found.elbo > best.elbo)) return;
    best = found;
    start = std::move(other);
  };
  if (candidate.sd) try_instead(from_sds(evaluator, candidate.centre.theta, *candidate.sd, shape, seed));
  for (const double bound : kStartBounds) {
    if (sd.size() == 0 || (sd.array() <= bound * size.array()).all()) continue;
    const Vector added = (bound * size).cwiseAbs2().cwiseInverse();
    try_instead(start_with(evaluator, candidate, shape, added, seed));
  }
  start.covariance->scale(best.scale);
  return start;
}

}  // namespace magva
