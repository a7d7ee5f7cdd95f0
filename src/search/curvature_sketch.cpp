#include <algorithm>
#include <cmath>

#include "core/noise.hpp"
#include "search/curvature.hpp"
#include "search/lanczos.hpp"

namespace magva {

namespace {

/// Rounds and probes of the diagonal's estimate where m is too large for a dense curvature.
constexpr int kDiagonalRounds = 2;
constexpr Index kDiagonalProbes = 32;
/// Lanczos steps beyond twice the eigenvectors wanted.
constexpr Index kLanczosExtra = 16;
/// The length of a Lanczos difference, in posterior sds.
constexpr double kSketchDifference = .1;
/// Most that a parameter moves in a difference, relative to its size or 1: where it hardly matters its sd is
/// beyond all measure, and the log density overflows there.
constexpr double kLargestMove = 1;
/// Smallest eigenvalue taken from the sketch, with the bound of its error: a factor on which all of 100,000
/// parameters depend has about 100,000 times their residual variance.
constexpr double kSketchFloor = 1e-6;

// -Hessian times each column of `directions`, by central differences over about a tenth of a posterior sd.
Matrix curvature_times(Evaluator& evaluator, const PathPoint& at, ConstMatrixRef directions, double length) {
  const Index m = at.theta.size();
  const Index k = directions.cols();
  Matrix theta(m, 2 * k);
  theta.leftCols(k) = (length * directions).colwise() + at.theta;
  theta.rightCols(k) = (-length * directions).colwise() + at.theta;
  Vector log_density(2 * k);
  Matrix gradient(m, 2 * k);
  evaluator.evaluate(theta, log_density, gradient);
  return (gradient.rightCols(k) - gradient.leftCols(k)) / (2 * length);
}

Matrix signs(Index rows, Index cols, std::uint64_t seed, std::uint64_t round) {
  Matrix out(rows, cols);
  Noise(seed, NoiseStream::kStarts).fill(round, 1000, out);
  return out.unaryExpr([](double x) { return x < 0 ? -1. : 1.; });
}

/// Random signs times sds, and the curvature's products with them: A p.
struct Probes {
  Matrix directions;
  Matrix images;
};

/// A = diag(sd)^-2 + U diag(excess) U' + what is not known.
struct KnownPart {
  Matrix u;
  Vector excess;
};

KnownPart known_part(const RitzPairs& ritz) {
  std::vector<Index> found;
  for (Index k = 0; k < ritz.values.size(); ++k)
    if (ritz.errors(k) < kRitzError * std::abs(ritz.values(k) - 1)) found.push_back(k);
  return {ritz.vectors.u(Eigen::all, found), ritz.values(found).array() - 1};
}

// Scaled by sds: where scales differ by powers of ten the noise of a large entry would otherwise drown the
// small ones.
Probes probe(Evaluator& evaluator, const PathPoint& at, ConstVectorRef sd, std::uint64_t seed,
             std::uint64_t round) {
  Matrix directions = sd.asDiagonal() * signs(at.theta.size(), kDiagonalProbes, seed, round);
  const double length = kFirstDifference * std::max(1., at.theta.cwiseAbs().maxCoeff()) /
                        std::max(1e-300, directions.cwiseAbs().maxCoeff());
  Matrix images = curvature_times(evaluator, at, directions, length);
  return {std::move(directions), std::move(images)};
}

// Hutchinson's estimator, E[p o Ap] / sd^2, for what A is beyond its eigenvectors that are known: it has the
// noise of the elements off the diagonal, most of which are theirs where correlations are strong.
Vector diagonal(const Probes& probes, ConstVectorRef sd, const KnownPart& known) {
  const Matrix left =
      probes.images - known.u * (known.excess.asDiagonal() * (known.u.transpose() * probes.directions));
  const Vector rest = probes.directions.cwiseProduct(left).rowwise().mean().cwiseQuotient(sd.cwiseAbs2());
  const Vector out = (rest + known.u.cwiseAbs2() * known.excess).cwiseAbs();
  return out.cwiseMax(1e-8 * out.maxCoeff() + 1e-300);
}

/// Eigenvectors of the curvature in units of sd.
RitzPairs eigenvectors(Evaluator& evaluator, const PathPoint& at, ConstVectorRef sd, Index steps,
                       std::uint64_t seed) {
  const Index m = sd.size();
  const Matrix none(m, 0);
  Matrix random(m, 1);
  Noise(seed, NoiseStream::kStarts).fill(99, 0, random);
  const Vector inverse_size = at.theta.cwiseAbs().cwiseMax(1).cwiseInverse();
  const auto times = [&](ConstVectorRef direction) {
    const double move = direction.cwiseProduct(inverse_size).cwiseAbs().maxCoeff();
    return curvature_times(evaluator, at, direction, std::min(kSketchDifference, kLargestMove / move));
  };
  return lanczos(times, LowRankPlusDiagonal(none, sd), {none, none}, random.col(0).cwiseQuotient(sd), steps);
}

}  // namespace

CurvatureSketch sketch_curvature(Evaluator& evaluator, const PathPoint& at, Index count, std::uint64_t seed) {
  const Index m = at.theta.size();
  const Index steps = 2 * count + kLanczosExtra;
  CurvatureSketch sketch;
  const auto inverse_root = [](const Vector& variance) { return variance.cwiseSqrt().cwiseInverse(); };
  Vector sd = Vector::Ones(m);
  Vector probed;
  Probes probes;
  for (int round = 0; round < kDiagonalRounds; ++round) {
    probes = probe(evaluator, at, sd, seed, static_cast<std::uint64_t>(round));
    probed = sd;
    sd = inverse_root(diagonal(probes, probed, {Matrix(m, 0), Vector(0)}));
  }
  const KnownPart known = known_part(eigenvectors(evaluator, at, sd, steps, seed));
  sketch.diagonal = diagonal(probes, probed, known);
  const RitzPairs ritz = eigenvectors(evaluator, at, inverse_root(sketch.diagonal), steps, seed);
  const Index kept = std::min(count, ritz.values.size());
  sketch.values = (ritz.values + ritz.errors).head(kept).cwiseMax(kSketchFloor).cwiseMin(1);
  sketch.directions = ritz.vectors.z.leftCols(kept);
  return sketch;
}

}  // namespace magva
