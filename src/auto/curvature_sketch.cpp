#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include <cmath>

#include "magva/auto/constants.hpp"
#include "magva/auto/curvature.hpp"
#include "magva/noise.hpp"

namespace magva {

namespace {

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

// E[s o Hs] with random signs s. A second round probes with signs scaled by the first round's sds: where
// scales differ by powers of ten the noise of a large entry would otherwise drown the small ones.
Vector hutchinson_diagonal(Evaluator& evaluator, const PathPoint& at, std::uint64_t seed) {
  const Index m = at.theta.size();
  Vector sd = Vector::Constant(m, 1);
  Vector diagonal(m);
  for (int round = 0; round < constants::kSketchRounds; ++round) {
    Matrix probe = signs(m, constants::kSketchProbes, seed, static_cast<std::uint64_t>(round));
    const Matrix unit = probe;
    probe = sd.asDiagonal() * probe;
    const double length = constants::kFirstDifference / std::max(1e-300, probe.cwiseAbs().maxCoeff());
    const Matrix image =
        curvature_times(evaluator, at, probe, length * std::max(1., at.theta.cwiseAbs().maxCoeff()));
    diagonal = (unit.cwiseProduct(image).rowwise().mean()).cwiseQuotient(sd).cwiseAbs();
    const double floor = 1e-8 * diagonal.maxCoeff() + 1e-300;
    diagonal = diagonal.cwiseMax(floor);
    sd = diagonal.cwiseSqrt().cwiseInverse();
  }
  return diagonal;
}

}  // namespace

CurvatureSketch sketch_curvature(Evaluator& evaluator, const PathPoint& at, Index count, std::uint64_t seed) {
  const Index m = at.theta.size();
  CurvatureSketch sketch;
  sketch.diagonal = hutchinson_diagonal(evaluator, at, seed);
  if (count == 0) return sketch;
  const Vector sd = sketch.diagonal.cwiseSqrt().cwiseInverse();
  const Index steps = std::min<Index>(m, 2 * count + constants::kLanczosExtra);
  // Lanczos with full re-orthogonalisation: `steps` columns of length m, which is what the curvature start
  // costs.
  Matrix basis(m, steps);
  Matrix first(m, 1);
  Noise(seed, NoiseStream::kStarts).fill(99, 0, first);
  basis.col(0) = first.col(0).normalized();
  Vector alpha(steps);
  Vector beta = Vector::Zero(steps);
  Index used = 0;
  for (Index j = 0; j < steps; ++j) {
    Vector image = sd.cwiseProduct(
        curvature_times(evaluator, at, sd.cwiseProduct(basis.col(j)), constants::kSketchDifference).col(0));
    ++used;
    alpha(j) = basis.col(j).dot(image);
    for (int twice = 0; twice < 2; ++twice)
      image -= basis.leftCols(used) * (basis.leftCols(used).transpose() * image);
    if (j + 1 == steps) break;
    beta(j) = image.norm();
    if (!(beta(j) > 1e-10)) break;
    basis.col(j + 1) = image / beta(j);
  }
  Matrix tridiagonal = Matrix::Zero(used, used);
  for (Index j = 0; j < used; ++j) {
    tridiagonal(j, j) = alpha(j);
    if (j + 1 < used) tridiagonal(j, j + 1) = tridiagonal(j + 1, j) = beta(j);
  }
  const Eigen::SelfAdjointEigenSolver<Matrix> ritz(tridiagonal);
  const Index kept = std::min(count, used);
  sketch.values = ritz.eigenvalues().head(kept).cwiseMax(constants::kSketchFloor).cwiseMin(1);
  sketch.directions = basis.leftCols(used) * ritz.eigenvectors().leftCols(kept);
  return sketch;
}

}  // namespace magva
