#include "assess/posterior_sample.hpp"

namespace magva {

namespace {

Matrix sum_groups(const Matrix& columns, Index groups) {
  Matrix out = Matrix::Zero(columns.rows(), groups);
  for (Index c = 0; c < columns.cols(); ++c) out.col(c % groups) += columns.col(c);
  return out;
}

}  // namespace

Vector standard_errors(const Matrix& groups) {
  const auto count = static_cast<double>(groups.cols());
  const Matrix deviation = groups.colwise() - groups.rowwise().mean();
  return (deviation.rowwise().squaredNorm() * (count / (count - 1))).cwiseSqrt();
}

SampleMoments moments_of(const Matrix& values, const PosteriorSample& sample) {
  const Vector mean = values * sample.weights;
  const Matrix deviation = values.colwise() - mean;
  const Vector variance = deviation.cwiseAbs2() * sample.weights;
  const Matrix excess = deviation.cwiseAbs2().colwise() - variance;
  const Vector mean_se = standard_errors(sum_groups(deviation * sample.weights.asDiagonal(), sample.groups));
  const Vector square_se = standard_errors(sum_groups(excess * sample.weights.asDiagonal(), sample.groups));
  return {mean, variance.cwiseSqrt(), mean_se, .5 * square_se.cwiseQuotient(variance)};
}

}  // namespace magva
