#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include <cmath>
#include <utility>

#include "magva/error.hpp"
#include "refine/covariance.hpp"

namespace magva {

double inner(const CovarianceTangent& differential, const CovarianceTangent& direction) {
  double sum = differential.factors.cwiseProduct(direction.factors).sum();
  if (differential.scales.size() > 0) sum += differential.scales.dot(direction.scales);
  return sum;
}

CovarianceTangent combine(double a, const CovarianceTangent& x, double b, const CovarianceTangent& y) {
  return {a * x.factors + b * y.factors, a * x.scales + b * y.scales};
}

namespace {

/// Up to this m a step is bounded eigenvalue by eigenvalue; above it, as a whole: an eigenvalue decomposition
/// takes about twenty times as long as a Cholesky factor.
constexpr Index kEigenvalueDimension = 128;
/// Largest eigenvalue of a step, as power iteration sees it, of the precision relative to itself.
constexpr double kLargestPrecisionStep = .5;
constexpr int kNormIterations = 10;

// From below, by power iteration: the sign of an eigenvalue does not matter.
double spectral_norm(const Matrix& symmetric) {
  Vector v =
      Vector::LinSpaced(symmetric.rows(), 1, 2).array().unaryExpr([](double x) { return std::sin(97 * x); });
  double norm = 0;
  for (int k = 0; k < kNormIterations; ++k) {
    v /= std::max(v.norm(), 1e-300);
    v = (symmetric.selfadjointView<Eigen::Lower>() * v).eval();
    norm = v.norm();
  }
  return norm;
}

double log_abs_determinant(const Matrix& root) { return 2 * root.householderQr().logAbsDeterminant(); }

/// Sigma = R R'. Residuals live in the frame of R, where the posterior that q equals has none.
class FullRankCovariance final : public Covariance {
 public:
  FullRankCovariance(Matrix root, double log_determinant)
      : root_(std::move(root)), log_det_(log_determinant) {}

  std::unique_ptr<Covariance> clone() const override { return std::make_unique<FullRankCovariance>(*this); }
  Index noise_size() const override { return root_.rows(); }
  double log_determinant() const override { return log_det_; }

  void draw(PairBatch& batch) const override {
    batch.deviation.noalias() = root_ * batch.noise;
    batch.precision_times_delta = batch.noise;  // Sigma^-1 delta = R'^-1 z itself is never needed
  }

  Vector times(ConstVectorRef v) const override { return root_ * (root_.transpose() * v); }

  // sym E[(R' g + z) z'] / 2: zero for every single pair where the posterior is Gaussian and q equals it.
  CovarianceTangent differential(const PairBatch& batch, PairRange pairs,
                                 const ExpectedCurvature*) const override {
    const auto z = batch.noise.middleCols(pairs.first, pairs.count);
    const Matrix residual =
        root_.transpose() * batch.half_difference.middleCols(pairs.first, pairs.count) + z;
    const Matrix product = residual * z.transpose() / static_cast<double>(pairs.count);
    return {.25 * (product + product.transpose()), Vector()};
  }

  CovarianceTangent natural_gradient(const CovarianceTangent& differential,
                                     const ExpectedCurvature*) const override {
    return {2 * differential.factors, Vector()};
  }

  void move(const CovarianceTangent& direction, double step) override {
    if (root_.rows() <= kEigenvalueDimension)
      move_variances(direction.factors, step);
    else
      move_precision(direction.factors, step);
  }

  void scale(double factor) override {
    root_ *= factor;
    log_det_ += 2 * static_cast<double>(root_.rows()) * std::log(factor);
  }

  CovarianceTangent coordinates(const CovarianceTangent*) const override {
    Matrix sigma = Matrix::Zero(root_.rows(), root_.rows());
    sigma.selfadjointView<Eigen::Lower>().rankUpdate(root_);
    sigma.triangularView<Eigen::StrictlyUpper>() = sigma.transpose();
    return {std::move(sigma), Vector()};
  }

  bool assign(const CovarianceTangent& coordinates) override {
    const Eigen::LLT<Matrix> llt(coordinates.factors);
    if (llt.info() != Eigen::Success) return false;
    root_ = llt.matrixL();
    log_det_ = 2 * root_.diagonal().array().log().sum();
    return true;
  }

  // R' = QT gives Sigma = T'T: a Cholesky factor without forming the squared matrix.
  Gaussian gaussian(ConstVectorRef mean) const override {
    const Matrix upper = root_.transpose().householderQr().matrixQR().triangularView<Eigen::Upper>();
    return Gaussian::dense(mean, upper.transpose());
  }

  void save(io::ChecksummedWriter& out) const override {
    out.integer(static_cast<std::int64_t>(SavedCovariance::kFullRank));
    out.matrix(root_);
    out.number(log_det_);
  }

 private:
  void move_variances(const Matrix& direction, double step) {
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(direction);
    const Vector growth =
        (step * eigen.eigenvalues()).cwiseMax(-kLargestScaleStep).cwiseMin(kLargestScaleStep);
    const Matrix turned = root_ * eigen.eigenvectors();
    root_.noalias() =
        turned * (.5 * growth).array().exp().matrix().asDiagonal() * eigen.eigenvectors().transpose();
    log_det_ = log_abs_determinant(root_);
  }

  // To first order the same: Sigma^-1 <- R'^-1 (I - step X) R^-1. With X = I - R' E[-Hessian] R this goes
  // that share of the way from the precision to the expected curvature, which is where it ends.
  void move_precision(const Matrix& direction, double step) {
    const Index m = root_.rows();
    double length =
        step * std::min(1., kLargestPrecisionStep / std::max(step * spectral_norm(direction), 1e-300));
    Eigen::LLT<Matrix> llt;
    for (;; length *= .5) {
      llt.compute(Matrix::Identity(m, m) - length * direction);
      if (llt.info() == Eigen::Success) break;
      if (!(length > 0)) return;
    }
    root_ = llt.matrixL().solve(root_.transpose()).transpose().eval();
    log_det_ -= 2 * llt.matrixLLT().diagonal().array().log().sum();
  }

  Matrix root_;
  double log_det_ = 0;
};

}  // namespace

std::unique_ptr<Covariance> read_full_rank(io::ChecksummedReader& in) {
  Matrix root = in.matrix();
  const double log_determinant = in.number();
  if (root.rows() != root.cols()) in.fail("its parts do not fit each other");
  return std::make_unique<FullRankCovariance>(std::move(root), log_determinant);
}

std::unique_ptr<Covariance> make_full_rank(ConstMatrixRef precision) {
  const Eigen::LLT<Matrix> llt(precision);
  if (llt.info() != Eigen::Success) throw DataError("the curvature is not positive definite");
  const Matrix inverse = llt.matrixU().solve(Matrix::Identity(precision.rows(), precision.rows()));
  return std::make_unique<FullRankCovariance>(inverse, -2 * llt.matrixLLT().diagonal().array().log().sum());
}

}  // namespace magva
