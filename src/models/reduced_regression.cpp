// A regression with normal priors and fewer rows than coefficients, in the span of its rows.
#include <Eigen/QR>

#include "models/expected_priors.hpp"
#include "models/expected_regression.hpp"

namespace magva::detail {

namespace {

/// Independent normals phi behind the coefficients, theta = T phi: T is the identity, but theta_i =
/// phi_i - centre' phi for an intercept i whose prior is at centred predictors.
struct IndependentForm {
  IndependentNormals prior;

  bool centred() const { return prior.intercept.has_value(); }
  Vector centre() const {
    Vector out = prior.mean;
    if (centred()) out(*prior.intercept) -= prior.centre.dot(prior.mean);
    return out;
  }
  /// Rows of X T diag(sd).
  RowMatrix scaled_rows(RowMatrix x) const {
    if (centred()) x -= Vector(x.col(*prior.intercept)) * prior.centre.transpose();
    return x * prior.sd.asDiagonal();
  }
  /// diag(sd)^-1 T diag(sd) = I - left right'.
  Matrix shear() const {
    const Index m = prior.mean.size();
    if (!centred()) return Matrix(m, 0);
    Matrix out(m, 2);
    out.col(0) = Vector::Unit(m, *prior.intercept);
    out.col(1) = prior.centre.cwiseProduct(prior.sd) / prior.sd(*prior.intercept);
    return out;
  }
};

std::shared_ptr<const Vector> offset_at(const RegressionParts& parts, const RowMatrix& x,
                                        const Vector& centre) {
  if (centre.isZero(0)) return parts.offset;
  Vector out = Vector::Zero(parts.response->size());
  out.head(x.rows()) = x * centre;
  if (parts.offset) out += *parts.offset;
  return std::make_shared<const Vector>(std::move(out));
}

/// The likelihood's own coordinate is a direction of its own.
void append_coordinate(ReducedDensity& out) {
  const Index m = out.centre.size();
  const auto extend = [](Matrix& matrix) {
    matrix.conservativeResize(matrix.rows() + 1, matrix.cols() + 1);
    matrix.rightCols(1).setZero();
    matrix.bottomRows(1).setZero();
    matrix(matrix.rows() - 1, matrix.cols() - 1) = 1;
  };
  extend(out.directions);
  extend(out.mixing);
  out.centre.conservativeResize(m + 1);
  out.scale.conservativeResize(m + 1);
  out.centre(m) = 0;
  out.scale(m) = 1;
}

}  // namespace

std::optional<ReducedDensity> ExpectedRegression::reduced() const {
  const Design& design = parts_.kernel->design();
  const Index n = design.rows();
  const Index m = design.cols();
  auto normals = parts_.prior->independent_normals();
  if (!normals || m + (parts_.has_nuisance ? 1 : 0) != dimension()) return std::nullopt;
  const IndependentForm form{std::move(*normals)};
  const Matrix shear = form.shear();
  const Index k = n + shear.cols();
  if (k >= m) return std::nullopt;
  const RowMatrix x = dense_rows(design);
  Matrix spanning(m, k);
  spanning << form.scaled_rows(x).transpose(), shear;
  const Eigen::HouseholderQR<Matrix> qr(spanning);
  ReducedDensity out;
  out.centre = form.centre();
  out.scale = form.prior.sd;
  out.directions = qr.householderQ() * Matrix::Identity(m, k);
  out.mixing = Matrix::Identity(k, k);
  if (form.centred()) {
    const Matrix within = out.directions.transpose() * shear;
    out.mixing -= within.col(0) * within.col(1).transpose();
  }
  const Matrix triangle = qr.matrixQR().topRows(k).triangularView<Eigen::Upper>();
  RegressionParts parts = parts_;
  parts.kernel = make_kernel(Design::own(RowMatrix(triangle.leftCols(n).transpose())));
  parts.offset = offset_at(parts_, x, out.centre);
  parts.dimension = k + (parts_.has_nuisance ? 1 : 0);
  parts.prior = expected_normal_prior(1, k);
  if (parts_.has_nuisance) append_coordinate(out);
  out.density = std::make_shared<ExpectedRegression>(std::move(parts));
  return out;
}

}  // namespace magva::detail
