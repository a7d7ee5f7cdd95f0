#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>

#include "core/archive.hpp"
#include "magva/error.hpp"
#include "refine/expected_curvature.hpp"
#include "refine/sketched_curvature.hpp"
#include "refine/step_control.hpp"
#include "search/quadratic_fit.hpp"

namespace magva {

namespace {

/// A is stale where it leaves this many times the squared residual that Sigma^-1 leaves.
constexpr double kStaleCurvature = 10;
/// A remembers at least kControlMemory m pairs, at least this share of all pairs seen, and never takes more
/// than kControlRate of its correction from one batch.
constexpr double kControlMemory = 2;
constexpr double kControlShare = .3;
constexpr double kControlRate = .5;
/// Largest noise, relative to Sigma^-1, that is assumed of the learned curvature.
constexpr double kMostControlNoise = 10;
/// Dampings, each four times the one before and this much more, that are tried to make the learned curvature
/// positive definite.
constexpr int kNewtonDampings = 5;
constexpr double kFirstDamping = 1e-3;
/// Shares of Sigma^-1 in the learned curvature, the first that makes it positive definite, for which other
/// factors are sought before a fit may converge.
constexpr double kAlternativeShares[] = {0, .05, .2, .5};

// In the metric of Sigma^-1 for directions, that is of Sigma for gradients.
double squared_size(const LowRankCovariance& sigma, const Matrix& gradients) {
  return (sigma.factors().transpose() * gradients).squaredNorm() +
         (sigma.residual_sd().asDiagonal() * gradients).squaredNorm();
}

Matrix precision_of(const LowRankCovariance& sigma) {
  return sigma.solve(Matrix::Identity(sigma.m(), sigma.m()));
}

class DenseExpectedCurvature final : public ExpectedCurvature {
 public:
  explicit DenseExpectedCurvature(Matrix curvature) : a_(std::move(curvature)) {
    const Eigen::LLT<Matrix> llt(a_);
    if (llt.info() != Eigen::Success) throw DataError("the curvature is not positive definite");
    newton_root_ = llt.matrixL();
  }
  std::unique_ptr<ExpectedCurvature> clone() const override {
    return std::make_unique<DenseExpectedCurvature>(*this);
  }

  Index dimension() const override { return a_.rows(); }

  // Where A is stale it starts again from Sigma^-1.
  void prepare(const PairBatch& batch, const LowRankCovariance& sigma) override {
    const double left = compare(batch, sigma);
    const double square = left / (static_cast<double>(batch.pairs()) * static_cast<double>(a_.rows()));
    const bool first = mean_square_ == 0;
    mean_square_ += (first ? 1 : kGainWeight) * (square - mean_square_);
    if (first) renew(sigma);
    if (stale()) a_ = precision_of(sigma);
  }

  Matrix times(ConstMatrixRef x, const LowRankCovariance&) const override {
    Matrix out = .5 * (a_ * x);
    out.noalias() += .5 * (a_.transpose() * x);
    return out;
  }
  Vector diagonal(const LowRankCovariance&) const override { return a_.diagonal(); }
  void add_bound_times(ConstMatrixRef x, const LowRankCovariance& sigma, Matrix& to) const override {
    if (!in_use()) return;
    to += noise() * sigma.solve(x);
    to += times(x, sigma);
  }

  Vector mean_step(ConstVectorRef gradient, const LowRankCovariance& sigma) const override {
    if (!in_use() || newton_root_.size() == 0) return sigma.times(gradient);
    Vector step = newton_root_.triangularView<Eigen::Lower>().solve(gradient);
    newton_root_.triangularView<Eigen::Lower>().transpose().solveInPlace(step);
    return step;
  }

  // A <- A - r mean[(g + A delta) delta' Sigma^-1]: its fixed point is E[-Hessian]. It is not kept symmetric,
  // so that each pair corrects A in the direction that it has seen and nowhere else; only its symmetric part
  // is used.
  void learn(const PairBatch& batch) override {
    const auto count = static_cast<double>(batch.pairs());
    seen_ += count;
    const double rate = std::min(kControlRate, count / memory());
    Matrix residual = batch.half_difference;
    residual.noalias() += a_ * batch.deviation;
    a_.noalias() -= (rate / count) * residual * batch.precision_times_delta.transpose();
  }

  // The mean's Newton steps use A, with as much of Sigma^-1 as its noise makes necessary.
  void renew(const LowRankCovariance& sigma) override {
    const Matrix precision = precision_of(sigma);
    double share = noise();
    for (int k = 0; k < kNewtonDampings; ++k, share = 4 * share + kFirstDamping) {
      const Eigen::LLT<Matrix> llt(symmetric() + share * precision);
      if (llt.info() != Eigen::Success) continue;
      newton_root_ = llt.matrixL();
      return;
    }
    newton_root_.resize(0, 0);
  }

  // The highest local maximum for the learned curvature, where it promises more than where the iterates are:
  // that may be the way from a saddle point, which takes natural gradients long.
  std::optional<CovarianceTangent> alternative(const LowRankCovariance& sigma, double gain,
                                               Control* control) const override {
    if (!in_use() || sigma.p() == 0) return std::nullopt;
    const Matrix precision = precision_of(sigma);
    for (const double share : kAlternativeShares) {
      const Matrix mixed = (1 - share) * symmetric() + share * precision;
      if (Eigen::LLT<Matrix>(mixed).info() != Eigen::Success) continue;
      const QuadraticFitter fitter(mixed, control);
      const double here = fitter.value(sigma.factors(), sigma.residual_sd());
      QuadraticFit there = fitter.best(sigma.p());
      if (there.value < here + gain) return std::nullopt;
      return CovarianceTangent{std::move(there.factors), there.residual_sd.array().log()};
    }
    return std::nullopt;
  }

  DenseExpectedCurvature() = default;
  void save(io::ChecksummedWriter& out) const override {
    save_head(out, Saved::kDense);
    visit_fields(io::Put{out}, *this);
  }
  void read(io::ChecksummedReader& in) {
    visit_fields(io::Get{in}, *this);
    const bool no_root = newton_root_.size() == 0;
    if (a_.rows() != a_.cols() || newton_root_.rows() != newton_root_.cols() ||
        !(no_root || newton_root_.rows() == a_.rows()))
      in.fail("its parts do not fit each other");
  }

 private:
  template <class Visit, class Curvature>
  static void visit_fields(Visit visit, Curvature& curvature) {
    visit(curvature.a_);
    visit(curvature.newton_root_);
    visit(curvature.seen_);
    visit(curvature.mean_square_);
  }
  Matrix symmetric() const { return .5 * (a_ + a_.transpose()); }
  double memory() const {
    return std::max(kControlMemory * static_cast<double>(a_.rows()), kControlShare * seen_);
  }
  // Of A relative to Sigma^-1, as a spectral norm: a mean of n products r z' with entries of variance s^2 has
  // one of about 2 s sqrt(m/n).
  double noise() const {
    return std::min(kMostControlNoise,
                    2 * std::sqrt(mean_square_ * static_cast<double>(a_.rows()) / memory()));
  }

  Matrix a_;
  Matrix newton_root_;  // Cholesky factor of the curvature that preconditions the mean; empty where there is
                        // none
  double seen_ = 0;     // pairs
  double mean_square_ = 0;  // that A leaves of a residual's coordinate
};

}  // namespace

double ExpectedCurvature::compare(const PairBatch& batch, const LowRankCovariance& sigma) {
  const double with = squared_size(sigma, batch.half_difference + times(batch.deviation, sigma));
  const double without = squared_size(sigma, batch.half_difference + batch.precision_times_delta);
  in_use_ = with < without;
  stale_ = !(with < kStaleCurvature * without);
  return with;
}

void ExpectedCurvature::save_head(io::ChecksummedWriter& out, Saved kind) const {
  out.integer(static_cast<std::int64_t>(kind));
  out.integer(in_use_ ? 1 : 0);
  out.integer(stale_ ? 1 : 0);
}

std::unique_ptr<ExpectedCurvature> read_curvature(io::ChecksummedReader& in, Workers& workers) {
  const std::int64_t kind = in.integer();
  const bool in_use = in.integer() != 0;
  const bool stale = in.integer() != 0;
  auto curvature = kind == static_cast<std::int64_t>(ExpectedCurvature::Saved::kDense)
                       ? read_dense_curvature(in)
                       : SketchedCurvature::read(in, workers);
  curvature->in_use_ = in_use;
  curvature->stale_ = stale;
  return curvature;
}

std::unique_ptr<ExpectedCurvature> read_dense_curvature(io::ChecksummedReader& in) {
  auto curvature = std::make_unique<DenseExpectedCurvature>();
  curvature->read(in);
  return curvature;
}

std::unique_ptr<ExpectedCurvature> make_dense_curvature(Matrix curvature) {
  return std::make_unique<DenseExpectedCurvature>(std::move(curvature));
}

}  // namespace magva
