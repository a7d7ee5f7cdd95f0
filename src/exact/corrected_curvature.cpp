#include "exact/corrected_curvature.hpp"

#include <Eigen/Eigenvalues>

namespace magva {

namespace {

constexpr int kMostProjections = 20;
constexpr double kNegligibleError = 1e-14;
/// Of the squared length of the longest, that a direction of the factors must have to count.
constexpr double kShortestDirection = 1e-8;

}  // namespace

// In units of the conditional sds the diagonal is 1. With orthonormal Q that spans the factors, and Z the
// products with it, the symmetric matrix nearest to M with M Q = Z has E Q' + Q E' - Q Q'E Q' added, E = Z -
// M Q; that with the diagonal 1 has its diagonal replaced. Projections on both in turn tend to the nearest of
// their intersection.
Matrix corrected_curvature(const Matrix& older, const Matrix& factors, const CurvatureProducts& products) {
  const Vector scale = products.diagonal.cwiseSqrt();
  const Vector older_sd = older.diagonal().cwiseSqrt().cwiseInverse();
  Matrix unit = older_sd.asDiagonal() * older * older_sd.asDiagonal();
  unit.diagonal().setOnes();
  if (factors.cols() > 0) {
    const Matrix scaled = scale.asDiagonal() * factors;
    const Eigen::SelfAdjointEigenSolver<Matrix> gram(scaled.transpose() * scaled);
    const Index used =
        (gram.eigenvalues().array() > kShortestDirection * gram.eigenvalues().maxCoeff()).count();
    const Matrix turn = gram.eigenvectors().rightCols(used) *
                        gram.eigenvalues().tail(used).cwiseSqrt().cwiseInverse().asDiagonal();
    const Matrix q = scaled * turn;
    const Matrix z = scale.cwiseInverse().asDiagonal() * products.times_factors * turn;
    for (int k = 0; k < kMostProjections; ++k) {
      const Matrix error = z - unit * q;
      if (!(error.squaredNorm() > kNegligibleError * kNegligibleError * z.squaredNorm())) break;
      const Matrix half = error - .5 * q * (q.transpose() * error);
      unit.noalias() += half * q.transpose();
      unit.noalias() += q * half.transpose();
      unit.diagonal().setOnes();
    }
  }
  return scale.asDiagonal() * unit * scale.asDiagonal();
}

}  // namespace magva
