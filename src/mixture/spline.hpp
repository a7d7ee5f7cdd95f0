#pragma once
// Interpolation between scattered points of few dimensions: the polyharmonic spline with r^3 and a linear
// part, which in one dimension is the natural cubic spline. It has no scale to choose.
#include <Eigen/QR>

#include "magva/types.hpp"

namespace magva {

class PolyharmonicSpline {
 public:
  /// Points and values have one column per point.
  PolyharmonicSpline(Matrix points, const Matrix& values) : points_(std::move(points)) {
    const Index d = points_.rows();
    const Index count = points_.cols();
    Matrix system = Matrix::Zero(count + d + 1, count + d + 1);
    system.leftCols(count) = basis(points_);
    system.topRightCorner(count, d + 1) = system.bottomLeftCorner(d + 1, count).transpose();
    Matrix right = Matrix::Zero(count + d + 1, values.rows());
    right.topRows(count) = values.transpose();
    weights_ = system.completeOrthogonalDecomposition().solve(right).transpose();
  }
  Matrix operator()(ConstMatrixRef at) const { return weights_ * basis(at); }

 private:
  Matrix basis(ConstMatrixRef at) const {
    const Index count = points_.cols();
    Matrix out(count + points_.rows() + 1, at.cols());
    for (Index s = 0; s < at.cols(); ++s) {
      out.col(s).head(count) =
          (points_.colwise() - at.col(s)).colwise().norm().array().cube().matrix().transpose();
      out(count, s) = 1;
      out.col(s).tail(points_.rows()) = at.col(s);
    }
    return out;
  }

  Matrix points_;
  Matrix weights_;
};

/// A quadratic by least squares, and such a spline of what is left: smooth functions depend on two
/// coordinates together mostly by their product, which few scattered points show and a spline alone does not
/// have.
class TrendedSpline {
 public:
  TrendedSpline(const Matrix& points, const Matrix& values)
      : trend_(terms(points)
                   .transpose()
                   .completeOrthogonalDecomposition()
                   .solve(values.transpose())
                   .transpose()),
        rest_(points, values - trend_ * terms(points)) {}
  Matrix operator()(ConstMatrixRef at) const { return trend_ * terms(at) + rest_(at); }

 private:
  /// 1, all coordinates, and their squares and products.
  static Matrix terms(ConstMatrixRef at) {
    const Index d = at.rows();
    Matrix out(1 + d + d * (d + 1) / 2, at.cols());
    out.row(0).setOnes();
    out.middleRows(1, d) = at;
    Index row = d + 1;
    for (Index i = 0; i < d; ++i)
      for (Index j = i; j < d; ++j) out.row(row++) = at.row(i).cwiseProduct(at.row(j));
    return out;
  }

  Matrix trend_;
  PolyharmonicSpline rest_;
};

}  // namespace magva
