#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>

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

/// Sigma = R R'. Residuals live in the frame of R, where the posterior that q equals has none.
class FullRankCovariance final : public Covariance {
 public:
  explicit FullRankCovariance(Matrix root) : root_(std::move(root)) { refresh(); }

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
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(direction.factors);
    const Vector growth =
        (step * eigen.eigenvalues()).cwiseMax(-kLargestScaleStep).cwiseMin(kLargestScaleStep);
    const Matrix turned = root_ * eigen.eigenvectors();
    root_.noalias() =
        turned * (.5 * growth).array().exp().matrix().asDiagonal() * eigen.eigenvectors().transpose();
    refresh();
  }

  void scale(double factor) override {
    root_ *= factor;
    refresh();
  }

  CovarianceTangent coordinates(const CovarianceTangent*) const override {
    return {root_ * root_.transpose(), Vector()};
  }

  bool assign(const CovarianceTangent& coordinates) override {
    const Eigen::LLT<Matrix> llt(coordinates.factors);
    if (llt.info() != Eigen::Success) return false;
    root_ = llt.matrixL();
    refresh();
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
  }

 private:
  void refresh() { log_det_ = 2 * root_.householderQr().logAbsDeterminant(); }

  Matrix root_;
  double log_det_ = 0;
};

}  // namespace

std::unique_ptr<Covariance> read_full_rank(io::ChecksummedReader& in) {
  Matrix root = in.matrix();
  if (root.rows() != root.cols()) in.fail("its parts do not fit each other");
  return std::make_unique<FullRankCovariance>(std::move(root));
}

std::unique_ptr<Covariance> make_full_rank(ConstMatrixRef precision) {
  const Eigen::LLT<Matrix> llt(precision);
  if (llt.info() != Eigen::Success) throw DataError("the curvature is not positive definite");
  const Matrix inverse = llt.matrixU().solve(Matrix::Identity(precision.rows(), precision.rows()));
  return std::make_unique<FullRankCovariance>(inverse);
}

}  // namespace magva
