#include "sparse/sparse_precision.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/noise.hpp"
#include "sparse/factored_precision.hpp"

namespace magva {

namespace {

/// Up to this m the Gaussian that comes out is dense: all that is known of posteriors applies to it.
constexpr Index kDenseGaussian = 2000;
/// Random directions by which squared lengths of steps are estimated.
constexpr Index kProbes = 8;
/// Largest step of an entry relative to the diagonal's.
constexpr double kLargestEntryStep = 1;
/// Largest share of the precision that a step may take away, in any direction.
constexpr double kLargestLoss = .5;
/// Shares of the diagonal, the first that suffices, that are added to a step that would take away more; where
/// none does the step is halved, at most so many times. Away from the optimum the expected curvature need not
/// be positive definite: to shorten the step alone would leave nothing for the directions where it is.
constexpr double kStepDampings[] = {0, .01, .03, .1, .3, 1};
constexpr int kHalvings = 40;

/// The term of which a pattern has made this column.
SumTerm as_term(ConstVectorRef column) {
  SumTerm term{{}, column.cwiseAbs2().maxCoeff()};
  for (Index i = 0; i < column.size(); ++i)
    if (column(i) > 0) term.members.push_back(i);
  return term;
}

/// Sigma^-1 = S + V V', where S has the entries of a pattern, and V is the pattern's sums.
class SparsePrecisionCovariance final : public Covariance {
 public:
  SparsePrecisionCovariance(std::shared_ptr<const HessianPattern> pattern,
                            std::shared_ptr<const FactoredPrecision> precision)
      : pattern_(std::move(pattern)) {
    set_precision(std::move(precision));
  }

  std::unique_ptr<Covariance> clone() const override {
    return std::make_unique<SparsePrecisionCovariance>(*this);
  }
  Index noise_size() const override { return precision_->noise_size(); }
  double log_determinant() const override { return precision_->log_determinant(); }
  const HessianPattern* pattern() const override { return pattern_.get(); }
  Vector conditional_sd() const override {
    return pattern_->diagonal(precision_->values()).cwiseSqrt().cwiseInverse();
  }

  void draw(PairBatch& batch) const override {
    batch.deviation = precision_->root_times(batch.noise);
    batch.precision_times_delta = batch.noise;
  }

  Vector times(ConstVectorRef v) const override { return precision_->solve(v).col(0); }
  Vector rough_sd() const override {
    return probes_.rowwise().norm() / std::sqrt(static_cast<double>(kProbes));
  }

  // With D = E[-Hessian] - Sigma^-1 the metric tr(Sigma D Sigma D) / 2, in which D itself is the steepest
  // ascent, is estimated by w' L^-1 D Sigma D L^-T w for random signs w: linear in D, so that differences of
  // two estimates can be measured, too. D is kept beside it.
  CovarianceTangent differential(const PairBatch& batch, PairRange pairs,
                                 const ExpectedCurvature*) const override {
    const Vector change =
        batch.curvature.middleCols(pairs.first, pairs.count).rowwise().mean() - precision_->values();
    const Matrix image = precision_->solve(precision_->structure()->times(change, probes_));
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
    const Vector change = bounded(direction.factors.col(0));
    const Vector diagonal = pattern_->diagonal(precision_->values());
    double length = step;
    for (int k = 0; k < kHalvings; ++k, length *= .5)
      for (const double share : kStepDampings) {
        Vector damped = change;
        pattern_->add_to_diagonal(share * diagonal, damped);
        if (keeps_enough(length * damped) && try_values(precision_->values() + length * damped)) return;
      }
  }

  void scale(double factor) override { try_values(precision_->values() / (factor * factor)); }

  CovarianceTangent coordinates(const CovarianceTangent*) const override {
    return {precision_->values(), Vector::Zero(precision_->values().size())};
  }
  bool assign(const CovarianceTangent& coordinates) override {
    return try_values(coordinates.factors.col(0));
  }

  Gaussian gaussian(ConstVectorRef mean) const override {
    const Index m = pattern_->dimension();
    if (m > kDenseGaussian) return Gaussian::sparse(mean, precision_);
    const Matrix sigma = precision_->solve(Matrix::Identity(m, m));
    return Gaussian::dense(mean, Eigen::LLT<Matrix>(sigma).matrixL());
  }

  // To second order: with the change D of the precision, tr(Sigma D Sigma D) / 4 and the length of the shift.
  double divergence_from(const Covariance& other, ConstVectorRef shift) const override {
    const auto& before = dynamic_cast<const SparsePrecisionCovariance&>(other);
    const Matrix image =
        precision_->structure()->times(precision_->values() - before.precision_->values(), probes_);
    const double trace = image.cwiseProduct(precision_->solve(image)).sum() / kProbes;
    return .25 * trace + .5 * squared_length(shift);
  }

  void save(io::ChecksummedWriter& out) const override {
    out.integer(static_cast<std::int64_t>(SavedCovariance::kSparsePrecision));
    precision_->write(out);
  }

 private:
  void set_precision(std::shared_ptr<const FactoredPrecision> precision) {
    precision_ = std::move(precision);
    Matrix signs(noise_size(), kProbes);
    Noise(1, NoiseStream::kEvaluation).fill(0, 0, signs);
    probes_ = precision_->root_times(signs.unaryExpr([](double x) { return x < 0 ? -1. : 1.; }));
  }

  Vector bounded(const Vector& change) const {
    const Vector root = pattern_->diagonal(precision_->values()).cwiseSqrt();
    Vector out = change;
    for (Index k = 0; k < out.size(); ++k) {
      const auto entry = static_cast<std::size_t>(k);
      const double bound =
          kLargestEntryStep * root(pattern_->places().rows[entry]) * root(pattern_->places().columns[entry]);
      out(k) = std::clamp(out(k), -bound, bound);
    }
    return out;
  }

  bool try_values(Vector values) {
    auto precision = FactoredPrecision::make(precision_->structure(), std::move(values), precision_->sums());
    if (!precision) return false;
    set_precision(std::move(precision));
    return true;
  }

  /// v' Sigma^-1 v.
  double squared_length(ConstVectorRef v) const { return v.dot(precision_->times(v).col(0)); }

  bool keeps_enough(const Vector& change) const {
    return FactoredPrecision::make(precision_->structure(), precision_->values() + change / kLargestLoss,
                                   precision_->sums()) != nullptr;
  }

  std::shared_ptr<const HessianPattern> pattern_;
  std::shared_ptr<const FactoredPrecision> precision_;
  Matrix probes_;  // Sigma^1/2 times random signs
};

}  // namespace

std::unique_ptr<Covariance> make_sparse_precision(std::shared_ptr<const HessianPattern> pattern,
                                                  Vector values) {
  auto precision = FactoredPrecision::make(pattern->structure(), std::move(values), pattern->sums());
  return make_sparse_precision(std::move(pattern), std::move(precision));
}

std::unique_ptr<Covariance> make_sparse_precision(std::shared_ptr<const HessianPattern> pattern,
                                                  std::shared_ptr<const FactoredPrecision> precision) {
  if (!precision) return nullptr;
  return std::make_unique<SparsePrecisionCovariance>(std::move(pattern), std::move(precision));
}

std::unique_ptr<Covariance> read_sparse_precision(io::ChecksummedReader& in) {
  auto precision = FactoredPrecision::read(in);
  PatternEntries places{precision->structure()->rows(), precision->structure()->columns(), {}};
  for (const auto& sum : precision->sums().colwise()) places.sums.push_back(as_term(sum));
  auto pattern = std::make_shared<const HessianPattern>(precision->dimension(), std::move(places));
  return std::make_unique<SparsePrecisionCovariance>(std::move(pattern), std::move(precision));
}

}  // namespace magva
