// P-splines as a straight line and independent coefficients.
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <vector>

#include "magva/error.hpp"
#include "magva/priors.hpp"

namespace magva {

namespace {

constexpr Index kSmoothDegree = 3;

BSplineBasis basis_over(ConstVectorRef x, Index functions) {
  std::vector<double> sorted(x.data(), x.data() + x.size());
  std::sort(sorted.begin(), sorted.end());
  const auto distinct = std::unique(sorted.begin(), sorted.end()) - sorted.begin();
  if (distinct < 4 || !x.allFinite())
    throw DataError("a smooth term needs a finite predictor with at least 4 distinct values");
  const Index most = std::max<Index>(kSmoothDegree + 2, std::min<Index>(functions, distinct));
  return {most, kSmoothDegree, sorted.front(), sorted[static_cast<std::size_t>(distinct - 1)]};
}

/// Second differences of the B-splines' coefficients are D a. With D' D = U S U', the null space of D are
/// straight lines, and a = U S^(-1/2) b gives independent b. The line's coefficients are the Greville
/// abscissae, scaled.
Matrix wiggly_transform(const BSplineBasis& basis) {
  const Index k = basis.functions();
  Matrix differences = Matrix::Zero(k - 2, k);
  for (Index i = 0; i < k - 2; ++i) differences.row(i).segment(i, 3) << 1, -2, 1;
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(differences.transpose() * differences);
  Matrix transform(k, k - 1);
  transform.col(0) = Vector::LinSpaced(k, -.5, .5);
  for (Index j = 2; j < k; ++j)  // eigenvalues ascend, the first two are 0
    transform.col(j - 1) = eigen.eigenvectors().col(j) / std::sqrt(eigen.eigenvalues()(j));
  return transform;
}

/// Of the B-splines, some rows at a time: they take more memory than x.
Vector column_means(const BSplineBasis& basis, ConstVectorRef x) {
  constexpr Index kRows = 4096;
  Vector sums = Vector::Zero(basis.functions());
  for (Index begin = 0; begin < x.size(); begin += kRows)
    sums += basis(x.segment(begin, std::min(kRows, x.size() - begin))).colwise().sum().transpose();
  return sums / static_cast<double>(x.size());
}

/// Row by row, so that the bits of a row do not depend on the rows that it is evaluated with.
RowMatrix times(const RowMatrix& splines, const Matrix& transform) {
  const RowMatrix right = transform;
  const Index columns = right.cols();
  RowMatrix out = RowMatrix::Zero(splines.rows(), columns);
  for (Index i = 0; i < splines.rows(); ++i)
    for (Index k = 0; k < splines.cols(); ++k) {
      const double factor = splines(i, k);
      const double* from = right.data() + k * columns;
      double* to = out.data() + i * columns;
      for (Index j = 0; j < columns; ++j) to[j] += factor * from[j];
    }
  return out;
}

}  // namespace

SmoothBasis::SmoothBasis(ConstVectorRef x, Index functions)
    : basis_(basis_over(x, functions)),
      transform_(wiggly_transform(basis_)),
      means_(transform_.transpose() * column_means(basis_, x)) {}

SmoothBasis::SmoothBasis(BSplineBasis basis, Matrix transform, Vector means)
    : basis_(std::move(basis)), transform_(std::move(transform)), means_(std::move(means)) {}

RowMatrix SmoothBasis::operator()(ConstVectorRef x) const {
  const double lower = basis_.lower();
  const double upper = basis_.upper();
  const Vector inside = x.cwiseMax(lower).cwiseMin(upper);
  RowMatrix columns = times(basis_(inside), transform_);
  // Slopes at the ends, by a difference that cubic pieces make exact to the second order.
  const double h = 1e-5 * (upper - lower);
  Vector ends(4);
  ends << lower, lower + h, upper - h, upper;
  const RowMatrix at_ends = basis_(ends) * transform_;
  for (Index i = 0; i < x.size(); ++i) {
    if (x(i) < lower) columns.row(i) += (x(i) - lower) / h * (at_ends.row(1) - at_ends.row(0));
    if (x(i) > upper) columns.row(i) += (x(i) - upper) / h * (at_ends.row(3) - at_ends.row(2));
  }
  columns.rowwise() -= means_.transpose();
  return columns;
}

}  // namespace magva
