#include <Eigen/Dense>
#include <cmath>
#include <numbers>

#include "core/low_rank_plus_diagonal.hpp"
#include "core/noise.hpp"
#include "magva/error.hpp"
#include "magva/posterior.hpp"
#include "posterior/normal_quantile.hpp"
#include "sparse/factored_precision.hpp"

namespace magva {

namespace {

// Rotates W so that its columns are orthogonal and of decreasing length, and fixes their signs: the
// covariance WW' stays as it is, and two fits of one posterior show the same factors.
void make_canonical(Matrix& w) {
  const Index p = w.cols();
  if (p == 0) return;
  Workers workers;
  TallSkinny kernel(w.rows(), p, workers);
  Matrix gram(p, p);
  kernel.gram(w, w, gram);
  const Matrix rotation = kernel.eigen(gram).vectors().rowwise().reverse();
  kernel.multiply(1, w, rotation, 0, w);
  for (Index j = 0; j < p; ++j) {
    Index largest = 0;
    w.col(j).cwiseAbs().maxCoeff(&largest);
    if (w(largest, j) < 0) w.col(j) *= -1;
  }
}

}  // namespace

const char* to_string(GaussianKind kind) {
  switch (kind) {
    case GaussianKind::kMeanField:
      return "mean-field";
    case GaussianKind::kLowRank:
      return "low-rank";
    case GaussianKind::kFullRank:
      return "full-rank";
    case GaussianKind::kSparsePrecision:
      return "sparse-precision";
  }
  return "unknown";
}

GaussianKind Gaussian::kind() const {
  if (is_sparse()) return GaussianKind::kSparsePrecision;
  if (dense_) return GaussianKind::kFullRank;
  return rank() == 0 ? GaussianKind::kMeanField : GaussianKind::kLowRank;
}

Gaussian Gaussian::low_rank(Vector mean, Matrix factors, Vector residual_sd) {
  if (factors.rows() != mean.size() || residual_sd.size() != mean.size())
    throw UsageError("a low-rank Gaussian needs a mean, factors and residual sds with as many rows");
  if (!(residual_sd.array() > 0).all()) throw UsageError("a low-rank Gaussian needs positive residual sds");
  Gaussian out;
  out.mean_ = std::move(mean);
  out.factors_ = std::move(factors);
  out.residual_ = std::move(residual_sd);
  make_canonical(out.factors_);
  out.factorise();
  return out;
}

Gaussian Gaussian::dense(Vector mean, Matrix cholesky) {
  if (cholesky.rows() != mean.size() || cholesky.cols() != mean.size())
    throw UsageError("a dense Gaussian needs a square Cholesky factor of its mean's size");
  if ((cholesky.diagonal().array() == 0).any())
    throw UsageError("a dense Gaussian needs a Cholesky factor without zeros on the diagonal");
  Gaussian out;
  out.dense_ = true;
  out.mean_ = std::move(mean);
  out.factors_ = cholesky.triangularView<Eigen::Lower>();
  for (Index j = 0; j < out.factors_.cols(); ++j)
    if (out.factors_(j, j) < 0) out.factors_.col(j) *= -1;
  out.factorise();
  return out;
}

Gaussian Gaussian::spiked(Vector mean, Vector scale, const Matrix& directions, Vector change) {
  if (directions.rows() != mean.size() || scale.size() != mean.size() || change.size() != directions.cols())
    throw UsageError("a spiked Gaussian needs a mean, scales and directions with as many rows");
  if (!(scale.array() > 0).all() || !(change.array() > -1).all())
    throw UsageError("a spiked Gaussian needs positive scales, and changes above -1");
  if (change.size() == 0) return low_rank(std::move(mean), directions, std::move(scale));
  Gaussian out;
  out.mean_ = std::move(mean);
  out.factors_ = scale.asDiagonal() * directions;
  out.residual_ = std::move(scale);
  out.weights_ = std::move(change);
  out.factorise();
  return out;
}

Gaussian Gaussian::sparse(Vector mean, std::shared_ptr<const FactoredPrecision> precision) {
  if (!precision || precision->dimension() != mean.size())
    throw UsageError("a Gaussian with a sparse precision needs one of its mean's size");
  Gaussian out;
  out.mean_ = std::move(mean);
  out.precision_ = std::move(precision);
  out.factorise();
  return out;
}

void Gaussian::factorise() {
  if (is_sparse()) {
    log_det_ = precision_->log_determinant();
    return;
  }
  if (is_spiked()) {
    log_det_ = 2 * residual_.array().log().sum() + weights_.array().log1p().sum();
    return;
  }
  if (dense_) {
    log_det_ = 2 * factors_.diagonal().array().log().sum();
    return;
  }
  SerialKernel kernel(dimension(), rank(), rank());
  Matrix gram(rank(), rank());
  precision_weighted_gram(factors_, residual_, gram, kernel);
  auto capacitance = std::make_shared<Capacitance>(rank());
  capacitance->compute(gram);
  capacitance_ = std::move(capacitance);
  log_det_ = low_rank_covariance().log_determinant();
}

LowRankPlusDiagonalView Gaussian::low_rank_covariance() const { return {factors_, residual_, *capacitance_}; }

// (I + Q diag(change) Q') v, with the orthonormal Q = D^-1 W of a spiked covariance. Column by column: a
// blocked product would round differently for another number of columns.
Matrix Gaussian::spike(ConstMatrixRef v, const Vector& change) const {
  Matrix out(v.rows(), v.cols());
  for (Index j = 0; j < v.cols(); ++j) {
    const Vector inner = change.cwiseProduct(factors_.transpose() * v.col(j).cwiseQuotient(residual_));
    out.col(j) = v.col(j) + (factors_ * inner).cwiseQuotient(residual_);
  }
  return out;
}

Vector Gaussian::sd() const {
  if (is_sparse()) return precision_->variances().cwiseSqrt();
  Vector variance =
      is_spiked() ? Vector(factors_.cwiseAbs2() * weights_) : Vector(factors_.rowwise().squaredNorm());
  if (!dense_) variance += residual_.cwiseAbs2();
  return variance.cwiseSqrt();
}

Vector Gaussian::covariance_row(Index i) const {
  if (i < 0 || i >= dimension()) throw UsageError("there is no such parameter");
  if (is_sparse()) return precision_->solve(Vector::Unit(dimension(), i)).col(0);
  Vector own = factors_.row(i);
  if (is_spiked()) own = own.cwiseProduct(weights_);
  Vector row = factors_ * own;
  if (!dense_) row(i) += residual_(i) * residual_(i);
  return row;
}

double Gaussian::covariance(Index i, Index j) const {
  if (is_sparse()) return i == j ? precision_->variances()(i) : covariance_row(i)(j);
  const double shared = is_spiked()
                            ? (factors_.row(i).array() * factors_.row(j).array()).matrix().dot(weights_)
                            : factors_.row(i).dot(factors_.row(j));
  return !dense_ && i == j ? shared + residual_(i) * residual_(i) : shared;
}

double Gaussian::correlation(Index i, Index j) const {
  return covariance(i, j) / std::sqrt(covariance(i, i) * covariance(j, j));
}

double Gaussian::log_determinant() const { return log_det_; }

Vector Gaussian::factor_shares() const {
  if (factors_.cols() == 0) return {};
  return factors_.colwise().squaredNorm().transpose() / sd().squaredNorm();
}

Index Gaussian::noise_size() const {
  if (is_sparse()) return precision_->noise_size();
  return dense_ || is_spiked() ? dimension() : rank() + dimension();
}

Matrix Gaussian::deviations(ConstMatrixRef noise) const {
  if (is_sparse()) return precision_->root_times(noise);
  if (is_spiked()) return residual_.asDiagonal() * spike(noise, (1 + weights_.array()).sqrt() - 1);
  Matrix out(dimension(), noise.cols());
  if (dense_) {
    // Draw by draw: a blocked product would round differently for another count.
    for (Index j = 0; j < noise.cols(); ++j) out.col(j).noalias() = factors_ * noise.col(j);
  } else {
    SerialKernel kernel(dimension(), rank(), noise.cols());
    low_rank_covariance().draw(noise, out, kernel);
  }
  return out;
}

Matrix Gaussian::draws(Index count, std::uint64_t seed, std::uint32_t first) const {
  Matrix noise(noise_size(), count);
  Noise(seed, NoiseStream::kPosteriorDraws).fill(0, first, noise);
  Matrix out = deviations(noise);
  out.colwise() += mean_;
  return out;
}

Matrix Gaussian::antithetic_draws(Index pairs, std::uint64_t seed) const {
  Matrix theta(dimension(), 2 * pairs);
  theta.leftCols(pairs) = draws(pairs, seed);
  theta.rightCols(pairs) = (-theta.leftCols(pairs)).colwise() + 2 * mean_;
  return theta;
}

Matrix Gaussian::quantiles(ConstVectorRef probabilities) const {
  const Vector z = probabilities.unaryExpr([](double p) { return normal_quantile(p); });
  return (sd() * z.transpose()).colwise() + mean_;
}

Matrix Gaussian::times(ConstMatrixRef v) const {
  if (is_sparse()) return precision_->solve(v);
  if (is_spiked()) return residual_.asDiagonal() * spike(residual_.asDiagonal() * v, weights_);
  Matrix out = factors_ * (factors_.transpose() * v);
  if (!dense_) out += residual_.cwiseAbs2().asDiagonal() * v;
  return out;
}

Matrix Gaussian::solve(ConstMatrixRef v) const {
  if (is_sparse()) return precision_->times(v);
  if (is_spiked()) {
    const Vector change = -weights_.array() / (1 + weights_.array());
    return residual_.cwiseInverse().asDiagonal() * spike(residual_.cwiseInverse().asDiagonal() * v, change);
  }
  if (dense_) {
    Matrix out = factors_.triangularView<Eigen::Lower>().solve(v);
    factors_.triangularView<Eigen::Lower>().transpose().solveInPlace(out);
    return out;
  }
  Matrix out(dimension(), v.cols());
  SerialKernel kernel(dimension(), rank(), v.cols());
  low_rank_covariance().solve(v, out, kernel);
  return out;
}

Vector Gaussian::precision_diagonal() const {
  if (is_sparse()) return precision_->diagonal();
  if (dense_) {
    const Matrix inverse =
        factors_.triangularView<Eigen::Lower>().solve(Matrix::Identity(dimension(), dimension()));
    return inverse.colwise().squaredNorm();
  }
  if (is_spiked()) {
    const Vector change = weights_.array() / (1 + weights_.array());
    const Vector shares = (factors_.cwiseAbs2() * change).cwiseQuotient(residual_.cwiseAbs2());
    return (1 - shares.array()) / residual_.array().square();
  }
  Vector out(dimension());
  SerialKernel kernel(dimension(), rank(), 1);
  low_rank_covariance().inverse_diagonal(out, kernel);
  return out;
}

Vector Gaussian::log_density(ConstMatrixRef theta) const {
  if (theta.rows() != dimension()) throw UsageError("the points have another dimension than the posterior");
  const Matrix deviation = theta.colwise() - mean_;
  const double constant = log_det_ + static_cast<double>(dimension()) * std::log(2 * std::numbers::pi);
  return -.5 * (squared_lengths(deviation).array() + constant);
}

Vector Gaussian::squared_lengths(ConstMatrixRef v) const {
  if (is_sparse()) return precision_->squared_lengths(v);
  if (dense_) return factors_.triangularView<Eigen::Lower>().solve(v).colwise().squaredNorm().transpose();
  return v.cwiseProduct(solve(v)).colwise().sum().transpose();
}

Gaussian Gaussian::with_correction(Gaussian corrected) const {
  if (corrected.dimension() != dimension() || corrected.corrected_)
    throw UsageError("a correction has the dimension of its Gaussian, and no correction of its own");
  Gaussian out = *this;
  out.corrected_ = std::make_shared<const Gaussian>(std::move(corrected));
  return out;
}

Gaussian Gaussian::with_shape(std::shared_ptr<const Posterior> shaped) const {
  if (!shaped || shaped->dimension() != dimension())
    throw UsageError("a posterior of another shape has the dimension of its Gaussian");
  Gaussian out = *this;
  out.shaped_ = std::move(shaped);
  return out;
}

Gaussian Gaussian::without_correction() const {
  Gaussian out = *this;
  out.corrected_ = nullptr;
  return out;
}

Gaussian Gaussian::transformed(ConstVectorRef centre, ConstVectorRef scale) const {
  Vector mean = centre + scale.cwiseProduct(mean_);
  if (is_sparse()) return sparse(std::move(mean), precision_->scaled(scale));
  if (is_spiked())
    return spiked(std::move(mean), scale.cwiseProduct(residual_),
                  residual_.cwiseInverse().asDiagonal() * factors_, weights_);
  Matrix factors = scale.asDiagonal() * factors_;
  Gaussian out = dense_ ? dense(std::move(mean), std::move(factors))
                        : low_rank(std::move(mean), std::move(factors), scale.cwiseProduct(residual_));
  return corrected_ ? out.with_correction(corrected_->transformed(centre, scale)) : out;
}

std::shared_ptr<const Posterior> Gaussian::rescaled(ConstVectorRef centre, ConstVectorRef scale) const {
  return std::make_shared<const Gaussian>(transformed(centre, scale));
}

namespace {

/// Columns of the identity that are multiplied together.
constexpr Index kTraceColumns = 64;

/// tr(B^-1 A) for the covariance A of a sparse precision: from A's entries where B^-1 has its own if the two
/// have one pattern, else column by column.
double trace_of_sparse(const Gaussian& a, const Gaussian& b) {
  if (b.is_sparse() && b.precision()->has_pattern_of(*a.precision()))
    return b.precision()->trace_with_inverse_of(*a.precision());
  const Index m = a.dimension();
  double trace = 0;
  for (Index first = 0; first < m; first += kTraceColumns) {
    const Index count = std::min(kTraceColumns, m - first);
    Matrix unit = Matrix::Zero(m, count);
    for (Index j = 0; j < count; ++j) unit(first + j, j) = 1;
    trace += b.solve(a.times(unit)).middleRows(first, count).trace();
  }
  return trace;
}

/// tr(B^-1 A) for the two covariances.
double trace_of_product(const Gaussian& a, const Gaussian& b) {
  if (a.is_sparse()) return trace_of_sparse(a, b);
  double trace = 0;
  if (a.rank() > 0) {
    const Vector forms = a.factors().cwiseProduct(b.solve(a.factors())).colwise().sum();
    trace += a.is_spiked() ? forms.dot(a.weights()) : forms.sum();
  }
  if (!a.is_dense()) trace += a.residual_sd().cwiseAbs2().dot(b.precision_diagonal());
  return trace;
}

}  // namespace

double kl_divergence(const Gaussian& a, const Gaussian& b) {
  if (a.dimension() != b.dimension()) throw UsageError("the two posteriors have different dimensions");
  const Vector difference = b.mean() - a.mean();
  const double trace = trace_of_product(a, b);
  return .5 * (trace + difference.dot(b.solve(difference).col(0)) - static_cast<double>(a.dimension()) +
               b.log_determinant() - a.log_determinant());
}

Vector subspace_angles(const Gaussian& a, const Gaussian& b) {
  if (a.dimension() != b.dimension()) throw UsageError("the two posteriors have different dimensions");
  const Index p = std::min(a.factors().cols(), b.factors().cols());
  if (p == 0) return {};
  const auto basis = [](const Matrix& w) {
    return Matrix(w.householderQr().householderQ() * Matrix::Identity(w.rows(), w.cols()));
  };
  const Matrix cosines = basis(a.factors()).transpose() * basis(b.factors());
  Vector angles = Eigen::JacobiSVD<Matrix>(cosines).singularValues().head(p);
  return angles.array().min(1.).acos();
}

}  // namespace magva
