#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include "fit/constants.hpp"
#include "magva/error.hpp"
#include "refine/covariance.hpp"

namespace magva {

double inner(const Tangent& differential, const Tangent& direction) {
  double sum = differential.factors.cwiseProduct(direction.factors).sum();
  if (differential.scales.size() > 0) sum += differential.scales.dot(direction.scales);
  return sum;
}

Tangent combine(double a, const Tangent& x, double b, const Tangent& y) {
  return {a * x.factors + b * y.factors, a * x.scales + b * y.scales};
}

namespace {

class FullRankCovariance final : public Covariance {
 public:
  explicit FullRankCovariance(Matrix root) : root_(std::move(root)) { refresh(); }

  std::unique_ptr<Covariance> clone() const override { return std::make_unique<FullRankCovariance>(*this); }
  Index noise_size() const override { return root_.rows(); }
  double log_determinant() const override { return log_det_; }

  void draw(PairBatch& batch) const override {
    batch.deviation.noalias() = root_ * batch.noise;
    batch.solved =
        batch.noise;  // Sigma^-1 delta = R'^-1 z is never needed itself: residuals live in the frame of R
  }

  Vector mean_step(ConstVectorRef gradient) const override { return root_ * (root_.transpose() * gradient); }

  // sym E[(R' g + z) z'] / 2: zero for every single pair where the posterior is Gaussian and q equals it.
  Tangent differential(const PairBatch& batch, Index first, Index count) const override {
    const auto z = batch.noise.middleCols(first, count);
    const Matrix residual = root_.transpose() * batch.odd.middleCols(first, count) + z;
    const Matrix product = residual * z.transpose() / static_cast<double>(count);
    return {.25 * (product + product.transpose()), Vector()};
  }

  Tangent natural(const Tangent& differential) const override { return {2 * differential.factors, Vector()}; }

  void move(const Tangent& direction, double step) override {
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(direction.factors);
    const Vector growth = (step * eigen.eigenvalues())
                              .cwiseMax(-constants::kLargestScaleStep)
                              .cwiseMin(constants::kLargestScaleStep);
    const Matrix turned = root_ * eigen.eigenvectors();
    root_.noalias() =
        turned * (.5 * growth).array().exp().matrix().asDiagonal() * eigen.eigenvectors().transpose();
    refresh();
  }

  void scale(double factor) override {
    root_ *= factor;
    refresh();
  }

  Tangent coordinates(const Tangent*) const override { return {root_ * root_.transpose(), Vector()}; }

  bool assign(const Tangent& coordinates) override {
    const Eigen::LLT<Matrix> llt(coordinates.factors);
    if (llt.info() != Eigen::Success) return false;
    root_ = llt.matrixL();
    refresh();
    return true;
  }

  Gaussian gaussian(ConstVectorRef mean) const override {
    // R' = QT gives Sigma = T'T: a Cholesky factor without forming the squared matrix.
    Matrix upper = root_.transpose().householderQr().matrixQR().triangularView<Eigen::Upper>();
    for (Index i = 0; i < upper.rows(); ++i)
      if (upper(i, i) < 0) upper.row(i) *= -1;
    return Gaussian::dense(mean, upper.transpose());
  }

  std::vector<Matrix*> state() override { return {&root_}; }
  void refresh() override { log_det_ = 2 * root_.householderQr().logAbsDeterminant(); }

 private:
  Matrix root_;
  double log_det_ = 0;
};

}  // namespace

std::unique_ptr<Covariance> make_full_rank(ConstMatrixRef precision) {
  const Eigen::LLT<Matrix> llt(precision);
  if (llt.info() != Eigen::Success) throw DataError("the curvature is not positive definite");
  const Matrix inverse = llt.matrixU().solve(Matrix::Identity(precision.rows(), precision.rows()));
  return std::make_unique<FullRankCovariance>(inverse);
}

}  // namespace magva
