#pragma once
// Conjugate gradients for how a Gaussian's covariance answers a move of its mean.
#include "magva/types.hpp"

namespace magva {

/// One system in the symmetric matrices. `residual`: of the solution, relative; a response errs by its
/// square.
class CovarianceSystem {
 public:
  CovarianceSystem(const Matrix& right_side, double residual)
      : solution_(Matrix::Zero(right_side.rows(), right_side.cols())),
        residual_(right_side),
        direction_(right_side),
        square_(right_side.squaredNorm()),
        enough_(residual * residual * square_) {}

  bool solved() const { return square_ <= enough_; }
  const Matrix& direction() const { return direction_; }
  const Matrix& solution() const { return solution_; }
  /// With the product of the matrix and the direction. False where the matrix is not positive definite.
  bool advance(const Matrix& image) {
    const double curvature = direction_.cwiseProduct(image).sum();
    if (!(curvature > 0)) return false;
    const double step = square_ / curvature;
    solution_ += step * direction_;
    residual_ -= step * image;
    const double now = residual_.squaredNorm();
    direction_ = residual_ + now / square_ * direction_;
    square_ = now;
    return true;
  }

 private:
  Matrix solution_, residual_, direction_;
  double square_, enough_;
};

}  // namespace magva
