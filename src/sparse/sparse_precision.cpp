#include "sparse/sparse_precision.hpp"

#include <Eigen/Cholesky>
#include <Eigen/SparseCholesky>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/noise.hpp"

namespace magva {

namespace {

/// Random directions by which squared lengths of steps are estimated.
constexpr Index kProbes = 8;
/// Largest step of the precision relative to itself, as power iteration sees it.
constexpr double kLargestStep = .5;
constexpr int kNormIterations = 10;
constexpr int kHalvings = 40;

using Factor = Eigen::SimplicialLLT<Eigen::SparseMatrix<double>, Eigen::Lower, Eigen::AMDOrdering<int>>;

std::shared_ptr<const Factor> factorise(const HessianPattern& pattern, ConstVectorRef values) {
  auto factor = std::make_shared<Factor>(pattern.lower(values));
  if (factor->info() != Eigen::Success) return nullptr;
  const Vector diagonal = Eigen::SparseMatrix<double>(factor->matrixL()).diagonal();
  if (!(diagonal.minCoeff() > 0) || !diagonal.allFinite()) return nullptr;
  return factor;
}

/// The term of which a pattern has made this column.
SumTerm as_term(ConstVectorRef column) {
  SumTerm term{{}, column.cwiseAbs2().maxCoeff()};
  for (Index i = 0; i < column.size(); ++i)
    if (column(i) > 0) term.members.push_back(i);
  return term;
}

/// Sigma^-1 = S + V V', where S has the entries `values` of a pattern, and V is the pattern's sums.
class SparsePrecisionCovariance final : public Covariance {
 public:
  SparsePrecisionCovariance(std::shared_ptr<const HessianPattern> pattern, Vector values,
                            std::shared_ptr<const Factor> factor)
      : pattern_(std::move(pattern)), values_(std::move(values)) {
    set_factor(std::move(factor));
  }

  std::unique_ptr<Covariance> clone() const override {
    return std::make_unique<SparsePrecisionCovariance>(*this);
  }
  Index noise_size() const override { return pattern_->dimension() + pattern_->sums().cols(); }
  double log_determinant() const override { return log_det_; }
  const HessianPattern* pattern() const override { return pattern_.get(); }
  Vector conditional_sd() const override { return pattern_->diagonal(values_).cwiseSqrt().cwiseInverse(); }

  void draw(PairBatch& batch) const override {
    batch.deviation = root_times(batch.noise);
    batch.precision_times_delta = batch.noise;
  }

  Vector times(ConstVectorRef v) const override { return solve(v).col(0); }
  Vector rough_sd() const override {
    return probes_.rowwise().norm() / std::sqrt(static_cast<double>(kProbes));
  }

  // With D = E[-Hessian] - Sigma^-1 the metric tr(Sigma D Sigma D) / 2, in which D itself is the steepest
  // ascent, is estimated by w' L^-1 D Sigma D L^-T w for random signs w: linear in D, so that differences of
  // two estimates can be measured, too. D is kept beside it.
  CovarianceTangent differential(const PairBatch& batch, PairRange pairs,
                                 const ExpectedCurvature*) const override {
    const Vector change = batch.curvature.middleCols(pairs.first, pairs.count).rowwise().mean() - values_;
    const Matrix image = solve(pattern_->times(change, probes_));
    const std::vector<Index>& rows = pattern_->places().rows;
    const std::vector<Index>& columns = pattern_->places().columns;
    Vector dual(pattern_->entries());
    for (Index k = 0; k < dual.size(); ++k) {
      const Index i = rows[static_cast<std::size_t>(k)];
      const Index j = columns[static_cast<std::size_t>(k)];
      const double one = image.row(i).dot(probes_.row(j));
      dual(k) = .5 * (i == j ? one : one + image.row(j).dot(probes_.row(i))) / kProbes;
    }
    return {dual, change};
  }

  CovarianceTangent natural_gradient(const CovarianceTangent& differential,
                                     const ExpectedCurvature*) const override {
    return {differential.scales, Vector::Zero(differential.scales.size())};
  }

  void move(const CovarianceTangent& direction, double step) override {
    const Vector change = direction.factors.col(0);
    double length = step * std::min(1., kLargestStep / std::max(step * relative_norm(change), 1e-300));
    for (int k = 0; k < kHalvings; ++k, length *= .5)
      if (try_values(values_ + length * change)) return;
  }

  void scale(double factor) override { try_values(values_ / (factor * factor)); }

  CovarianceTangent coordinates(const CovarianceTangent*) const override {
    return {values_, Vector::Zero(values_.size())};
  }
  bool assign(const CovarianceTangent& coordinates) override {
    return try_values(coordinates.factors.col(0));
  }

  Gaussian gaussian(ConstVectorRef mean) const override {
    const Index m = pattern_->dimension();
    const Matrix sigma = solve(Matrix::Identity(m, m));
    return Gaussian::dense(mean, Eigen::LLT<Matrix>(sigma).matrixL());
  }

  // To second order: with the change D of the precision, tr(Sigma D Sigma D) / 4 and the length of the shift.
  double divergence_from(const Covariance& other, ConstVectorRef shift) const override {
    const auto& before = dynamic_cast<const SparsePrecisionCovariance&>(other);
    const Matrix image = pattern_->times(values_ - before.values_, probes_);
    const double trace = image.cwiseProduct(solve(image)).sum() / kProbes;
    return .25 * trace + .5 * squared_length(shift);
  }

  void save(io::ChecksummedWriter& out) const override {
    out.integer(static_cast<std::int64_t>(SavedCovariance::kSparsePrecision));
    out.integer(pattern_->dimension());
    out.matrix(as_matrix(pattern_->places()));
    out.matrix(pattern_->sums());
    out.matrix(values_);
  }

 private:
  static Matrix as_matrix(const PatternEntries& places) {
    Matrix out(static_cast<Index>(places.rows.size()), 2);
    for (std::size_t k = 0; k < places.rows.size(); ++k)
      out.row(static_cast<Index>(k)) << static_cast<double>(places.rows[k]),
          static_cast<double>(places.columns[k]);
    return out;
  }

  /// Sigma^1/2 z: a draw of N(0, S^-1), conditioned on the sums (Rue and Held 2005, section 2.3.3).
  Matrix root_times(const Matrix& z) const {
    Matrix out =
        factor_->permutationPinv() * Matrix(factor_->matrixU().solve(z.topRows(pattern_->dimension())));
    const Matrix& sums = pattern_->sums();
    if (sums.cols() == 0) return out;
    return out - sums_solved_ * between_sums_.solve(sums.transpose() * out + z.bottomRows(sums.cols()));
  }

  /// Sigma v, by Woodbury's identity.
  Matrix solve(ConstMatrixRef v) const {
    Matrix out = factor_->solve(Matrix(v));
    if (pattern_->sums().cols() > 0) out -= sums_solved_ * between_sums_.solve(sums_solved_.transpose() * v);
    return out;
  }

  void set_factor(std::shared_ptr<const Factor> factor) {
    factor_ = std::move(factor);
    log_det_ = -2 * Vector(Eigen::SparseMatrix<double>(factor_->matrixL()).diagonal()).array().log().sum();
    const Matrix& sums = pattern_->sums();
    if (sums.cols() > 0) {
      sums_solved_ = factor_->solve(sums);
      between_sums_.compute(Matrix::Identity(sums.cols(), sums.cols()) + sums.transpose() * sums_solved_);
      log_det_ -= 2 * Vector(between_sums_.matrixLLT().diagonal()).array().log().sum();
    }
    Matrix signs(noise_size(), kProbes);
    Noise(1, NoiseStream::kEvaluation).fill(0, 0, signs);
    probes_ = root_times(signs.unaryExpr([](double x) { return x < 0 ? -1. : 1.; }));
  }

  bool try_values(const Vector& values) {
    auto factor = factorise(*pattern_, values);
    if (!factor) return false;
    values_ = values;
    set_factor(std::move(factor));
    return true;
  }

  /// v' Sigma^-1 v.
  double squared_length(ConstVectorRef v) const {
    return v.dot(pattern_->times(values_, v).col(0)) + (pattern_->sums().transpose() * v).squaredNorm();
  }

  /// Of a change of the precision, relative to it: the largest eigenvalue of Sigma times it, from below.
  double relative_norm(const Vector& change) const {
    Vector v = probes_.col(0);
    double norm = 0;
    for (int k = 0; k < kNormIterations; ++k) {
      const Vector image = pattern_->times(change, v);
      const Vector next = solve(image).col(0);
      const double length = std::sqrt(std::max(squared_length(v), 1e-300));
      norm = std::sqrt(std::max(0., next.dot(image))) / length;
      v = next / std::max(next.norm(), 1e-300);
    }
    return norm;
  }

  std::shared_ptr<const HessianPattern> pattern_;
  Vector values_;
  std::shared_ptr<const Factor> factor_;  // of S
  Matrix sums_solved_;                    // S^-1 V
  Eigen::LLT<Matrix> between_sums_;       // of I + V' S^-1 V
  Matrix probes_;                         // Sigma^1/2 times random signs
  double log_det_ = 0;
};

}  // namespace

std::unique_ptr<Covariance> make_sparse_precision(std::shared_ptr<const HessianPattern> pattern,
                                                  Vector values) {
  auto factor = factorise(*pattern, values);
  if (!factor) return nullptr;
  return std::make_unique<SparsePrecisionCovariance>(std::move(pattern), std::move(values),
                                                     std::move(factor));
}

std::unique_ptr<Covariance> read_sparse_precision(io::ChecksummedReader& in) {
  const Index m = in.integer();
  const Matrix stored = in.matrix();
  const Matrix sums = in.matrix();
  Vector values = in.matrix().reshaped();
  const bool fits = m > 0 && stored.cols() == 2 && sums.rows() == m && stored.rows() == values.size() &&
                    values.size() >= m && stored.minCoeff() >= 0 &&
                    stored.maxCoeff() < static_cast<double>(m);
  if (!fits) in.fail("its parts do not fit each other");
  PatternEntries places;
  for (Index k = 0; k < stored.rows(); ++k) {
    places.rows.push_back(static_cast<Index>(stored(k, 0)));
    places.columns.push_back(static_cast<Index>(stored(k, 1)));
  }
  for (const auto& sum : sums.colwise()) places.sums.push_back(as_term(sum));
  auto covariance =
      make_sparse_precision(std::make_shared<const HessianPattern>(m, std::move(places)), std::move(values));
  if (!covariance) in.fail("its parts do not fit each other");
  return covariance;
}

}  // namespace magva
