#include "refine/sketched_curvature.hpp"

#include <cmath>

namespace magva {

namespace {

/// Lanczos steps of a sketch, and in search of the largest eigenvalue that is left.
constexpr Index kSketchSteps = 40;
constexpr Index kRestSteps = 8;
/// Standard errors of an eigenvalue that are added to it for a bound.
constexpr double kRitzNoise = 1;
/// Least curvature, relative to Sigma^-1, that the mean's steps assume.
constexpr double kNewtonFloor = .05;

}  // namespace

SketchedCurvature::SketchedCurvature(LowRankCovariance sigma, const Product& curvature_times,
                                     ConstMatrixRef first)
    : sigma_(std::move(sigma)) {
  const DualVectors none{Matrix(sigma_.m(), 0), Matrix(sigma_.m(), 0)};
  const RitzPairs ritz = lanczos(curvature_times, sigma_.matrix(), none, first.col(0), kSketchSteps);
  std::vector<Index> found;
  for (Index k = 0; k < ritz.values.size(); ++k)
    if (ritz.errors(k) < kRitzError * std::max(std::abs(ritz.values(k)), kNewtonFloor)) found.push_back(k);
  found_ = {ritz.vectors.z(Eigen::all, found), ritz.vectors.u(Eigen::all, found)};
  values_ = ritz.values(found);
  bounds_ = (values_.cwiseAbs() + kRitzNoise * ritz.noise(found)).cwiseMax(kNewtonFloor);
  const RitzPairs rest = lanczos(curvature_times, sigma_.matrix(), found_, first.col(1), kRestSteps);
  rest_ = std::max(1., (rest.values.cwiseAbs() + rest.errors + kRitzNoise * rest.noise).maxCoeff());
}

Matrix SketchedCurvature::times(ConstMatrixRef x, const LowRankCovariance& sigma) const {
  return sigma.solve(x) +
         found_.u * ((values_.array() - 1).matrix().asDiagonal() * (found_.u.transpose() * x));
}

Vector SketchedCurvature::diagonal(const LowRankCovariance& sigma) const {
  return sigma.inverse_diagonal() + found_.u.cwiseAbs2() * (values_.array() - 1).matrix();
}

// Negative curvature counts by its size: the steps there are as short, and uphill.
void SketchedCurvature::add_bound_times(ConstMatrixRef x, const LowRankCovariance&, Matrix& to) const {
  const Vector beyond = bounds_.array() - rest_;
  to += rest_ * sigma_.solve(x) + found_.u * (beyond.asDiagonal() * (found_.u.transpose() * x));
}

Vector SketchedCurvature::solve(ConstVectorRef g, double rest) const {
  const Vector beyond = bounds_.cwiseInverse().array() - 1 / rest;
  return sigma_.times(g) / rest + found_.z * beyond.cwiseProduct(found_.z.transpose() * g);
}

}  // namespace magva
