#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <cmath>
#include <vector>

#include "search/curvature.hpp"

namespace magva {

namespace {

/// Largest m with central differences, 2 m gradients; above it one-sided ones, m gradients.
constexpr Index kCentralDifferences = 500;
/// Later differences are in conditional posterior sds.
constexpr double kIdealDifference = .03;
constexpr double kSmallestDifference = 1e-4;
constexpr double kLargestDifference = .3;
/// Rounds in which differences that were too small or too large are taken again.
constexpr int kDifferencePasses = 5;
/// Smallest eigenvalue of a curvature with unit diagonal: correlations up to 1 - 1e-8 pass.
constexpr double kCurvatureFloor = 1e-8;
/// Largest m with all eigenvalues of an indefinite curvature: above it, which would take many seconds, the
/// least of these is added to the diagonal that makes it positive definite.
constexpr Index kMostEigenvalues = 600;
constexpr double kDiagonalShares[] = {1e-6, 1e-4, 1e-2, .03, .1, .3, 1, 3, 10, 100};

// In one pass over the data, if the model knows it.
std::optional<Matrix> curvature_at(const ExpectedLogDensity& expected, ConstVectorRef theta,
                                   Workers& workers) {
  const auto scratch = expected.make_scratch(0);
  Evaluation evaluation{*scratch, workers};
  Vector gradient(theta.size());
  Matrix curvature;
  expected.expect({theta, Matrix(theta.size(), 0), Vector()}, gradient, curvature, evaluation);
  if (!curvature.allFinite()) return std::nullopt;
  return curvature;
}

// Column i of -Hessian for each i in `which`, by differences along coordinate i of size h(i).
bool difference_columns(Evaluator& evaluator, const PathPoint& at, const std::vector<Index>& which,
                        ConstVectorRef h, Matrix& curvature) {
  const Index m = at.theta.size();
  const bool central = m <= kCentralDifferences;
  const Index sides = central ? 2 : 1;
  const Index block = 64;
  for (std::size_t first = 0; first < which.size(); first += block) {
    const Index count = std::min<Index>(block, static_cast<Index>(which.size() - first));
    Matrix theta = at.theta.replicate(1, sides * count);
    for (Index j = 0; j < count; ++j) {
      const Index i = which[first + static_cast<std::size_t>(j)];
      theta(i, j) += h(i);
      if (central) theta(i, count + j) -= h(i);
    }
    Vector log_density(theta.cols());
    Matrix gradient(m, theta.cols());
    evaluator.evaluate(theta, log_density, gradient);
    if (!log_density.allFinite()) return false;
    for (Index j = 0; j < count; ++j) {
      const Index i = which[first + static_cast<std::size_t>(j)];
      curvature.col(i) = central ? Vector((gradient.col(count + j) - gradient.col(j)) / (2 * h(i)))
                                 : Vector((at.gradient - gradient.col(j)) / h(i));
    }
  }
  return true;
}

/// Whether a difference was neither too small nor too large for the curvature that it found; else the next
/// one.
bool right_difference(double curvature, double& h) {
  const double relative = h * std::sqrt(std::abs(curvature));  // in conditional sds
  if (relative >= kSmallestDifference && relative <= kLargestDifference) return true;
  h = std::clamp(kIdealDifference / std::sqrt(std::abs(curvature)), 1e-6 * h, 1e3 * h);
  return false;
}

/// Of a curvature whose diagonal is 1 or -1; `scale`: that of its coordinates.
Matrix with_raised_diagonal(Matrix unit, const Vector& scale) {
  unit.diagonal() = unit.diagonal().cwiseAbs();
  double before = 0;
  for (const double share : kDiagonalShares) {
    unit.diagonal().array() += share - before;
    before = share;
    if (Eigen::LLT<Matrix>(unit).info() == Eigen::Success)
      return scale.asDiagonal() * unit * scale.asDiagonal();
  }
  // Then each coordinate on its own.
  return Matrix(scale.cwiseAbs2().asDiagonal());
}

}  // namespace

std::optional<Matrix> dense_curvature(Evaluator& evaluator, const PathPoint& at) {
  const Index m = at.theta.size();
  if (const ExpectedLogDensity* expected = evaluator.model().expectations())
    if (auto exact = curvature_at(*expected, at.theta, evaluator.workers())) return exact;
  Vector h = kFirstDifference * at.theta.cwiseAbs().cwiseMax(1);
  Matrix curvature(m, m);
  std::vector<Index> which;
  for (Index i = 0; i < m; ++i) which.push_back(i);
  for (int pass = 0; pass < kDifferencePasses && !which.empty(); ++pass) {
    if (!difference_columns(evaluator, at, which, h, curvature)) {
      h *= .01;
      continue;
    }
    std::vector<Index> again;
    for (const Index i : which)
      if (!right_difference(curvature(i, i), h(i))) again.push_back(i);
    which = std::move(again);
  }
  if (!curvature.allFinite()) return std::nullopt;
  return Matrix(.5 * (curvature + curvature.transpose()));
}

// Central differences, a pair of gradients for each colour.
std::optional<Vector> sparse_curvature(Evaluator& evaluator, const PathPoint& at,
                                       const HessianPattern& pattern) {
  const Index m = at.theta.size();
  Vector h = kFirstDifference * at.theta.cwiseAbs().cwiseMax(1);
  Vector values;
  for (int pass = 0; pass < kDifferencePasses; ++pass) {
    values = pattern.curvature(evaluator, at.theta.replicate(1, 2), at.gradient.replicate(1, 2), h, {1, -1})
                 .rowwise()
                 .mean();
    if (!values.allFinite()) {
      h *= .01;
      continue;
    }
    const Vector diagonal = pattern.diagonal(values);
    bool done = true;
    for (Index i = 0; i < m; ++i) done = right_difference(diagonal(i), h(i)) && done;
    if (done) break;
  }
  if (!values.allFinite()) return std::nullopt;
  return values;
}

Matrix positive_part(ConstMatrixRef curvature) {
  const Index m = curvature.rows();
  const double largest = std::max(curvature.diagonal().cwiseAbs().maxCoeff(), 1e-300);
  const Vector scale = curvature.diagonal().cwiseAbs().cwiseMax(1e-20 * largest).cwiseMax(1e-300).cwiseSqrt();
  const Matrix unit = scale.cwiseInverse().asDiagonal() * curvature * scale.cwiseInverse().asDiagonal();
  if (Eigen::LLT<Matrix>(unit - kCurvatureFloor * Matrix::Identity(m, m)).info() == Eigen::Success)
    return curvature;
  if (m > kMostEigenvalues) return with_raised_diagonal(unit, scale);
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(unit);
  const Matrix root = scale.asDiagonal() * eigen.eigenvectors();
  double floor = kCurvatureFloor;
  for (;; floor *= 100) {
    const Matrix raised =
        root * eigen.eigenvalues().cwiseAbs().cwiseMax(floor).asDiagonal() * root.transpose();
    if (floor >= 1 || Eigen::LLT<Matrix>(raised).info() == Eigen::Success)
      return .5 * (raised + raised.transpose());
  }
}

}  // namespace magva
