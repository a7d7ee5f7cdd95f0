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

void SketchedCurvature::save(io::ChecksummedWriter& out) const {
  save_head(out, Saved::kSketched);
  sigma_.save(out);
  out.matrix(found_.z);
  out.matrix(found_.u);
  out.matrix(values_);
  out.matrix(bounds_);
  out.number(rest_);
}

std::unique_ptr<ExpectedCurvature> SketchedCurvature::read(io::ChecksummedReader& in, Workers& workers) {
  if (in.integer() != static_cast<std::int64_t>(SavedCovariance::kLowRank))
    in.fail("its parts do not fit each other");
  std::unique_ptr<SketchedCurvature> curvature(new SketchedCurvature(LowRankCovariance::read(in, workers)));
  curvature->found_.z = in.matrix();
  curvature->found_.u = in.matrix();
  curvature->values_ = in.matrix().reshaped();
  curvature->bounds_ = in.matrix().reshaped();
  curvature->rest_ = in.number();
  const Index found = curvature->values_.size();
  for (const Matrix* part : {&curvature->found_.z, &curvature->found_.u})
    if (part->rows() != curvature->dimension() || part->cols() != found || curvature->bounds_.size() != found)
      in.fail("its parts do not fit each other");
  return curvature;
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
