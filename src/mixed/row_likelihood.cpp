#include "mixed/row_likelihood.hpp"

#include <algorithm>
#include <cmath>

namespace magva::mixed {

namespace {

using Values = Eigen::Map<Vector>;

/// One linear predictor and a response family.
class FamilyRows final : public RowLikelihood {
 public:
  explicit FamilyRows(const Problem& problem) : problem_(problem) {}

  void values(const RowsAt& rows, double* value) const override {
    problem_.family->log_density(response(rows), rows.eta, rows.own, value);
    weigh(rows, value);
  }
  void slopes(const RowsAt& rows, double* value, double* by_eta, double* by_own) const override {
    problem_.family->slopes(response(rows), rows.eta, rows.own, value, by_eta, by_own);
    weigh(rows, value);
    weigh(rows, by_eta);
    for (Index k = 0; k < problem_.family->own_count(); ++k) weigh(rows, by_own + k * rows.count);
  }
  void curvatures(const RowsAt& rows, double* value, double* by_eta, double* curvature) const override {
    problem_.family->curvatures(response(rows), rows.eta, rows.own, value, by_eta, curvature);
    weigh(rows, value);
    weigh(rows, by_eta);
    weigh(rows, curvature);
    Values(curvature, rows.count) = (-Values(curvature, rows.count)).cwiseMax(0.0);
  }
  ThirdDerivatives thirds(const RowsAt& rows) const override {
    return {third(rows, 0).transpose(), Matrix::Ones(1, rows.count)};
  }
  double contracted_fourths(const RowsAt& rows, ConstMatrixRef forms) const override {
    constexpr double kStep = 1e-3;
    const Vector fourth = (third(rows, kStep) - third(rows, -kStep)) / (2 * kStep);
    return fourth.dot(forms.col(0).cwiseAbs2());
  }

 private:
  ResponseRows response(const RowsAt& rows) const { return problem_.response().from(rows.first, rows.count); }
  /// With all linear predictors moved by `shift`.
  Vector third(const RowsAt& rows, double shift) const {
    std::vector<PointDerivatives> at(static_cast<std::size_t>(rows.count));
    const Vector eta = Eigen::Map<const Vector>(rows.eta, rows.count).array() + shift;
    problem_.family->derivatives(response(rows), eta.data(), rows.own, at.data());
    Vector out(rows.count);
    for (Index i = 0; i < rows.count; ++i) out(i) = at[static_cast<std::size_t>(i)].by_eta3;
    weigh(rows, out.data());
    return out;
  }
  void weigh(const RowsAt& rows, double* values) const {
    const Vector& weights = problem_.data.weights;
    if (weights.size() > 0)
      Values(values, rows.count).array() *= weights.segment(rows.first, rows.count).array();
  }

  const Problem& problem_;
};

/// Unordered classes: the first has the predictor 0.
class SoftmaxRows final : public RowLikelihood {
 public:
  explicit SoftmaxRows(const Problem& problem) : problem_(problem), classes_(problem.predictors) {}

  void values(const RowsAt& rows, double* value) const override {
    Vector p(classes_);
    for (Index i = 0; i < rows.count; ++i) value[i] = weight(rows, i) * probabilities(rows, i, p);
  }
  void slopes(const RowsAt& rows, double* value, double* by_eta, double* /*by_own*/) const override {
    Vector p(classes_);
    for (Index i = 0; i < rows.count; ++i) {
      value[i] = weight(rows, i) * probabilities(rows, i, p);
      put_slopes(rows, i, p, by_eta);
    }
  }
  void curvatures(const RowsAt& rows, double* value, double* by_eta, double* curvature) const override {
    Vector p(classes_);
    for (Index i = 0; i < rows.count; ++i) {
      const double w = weight(rows, i);
      value[i] = w * probabilities(rows, i, p);
      put_slopes(rows, i, p, by_eta);
      for (Index c = 0; c < classes_; ++c)
        for (Index d = 0; d <= c; ++d)
          curvature[pair_place(c, d) * rows.stride + i] = w * p(c) * ((c == d ? 1.0 : 0.0) - p(d));
    }
  }
  // Minus the cumulants of the vector that is e_k with probability p_k: of order three they are its central
  // moments, of order four these less the three products of covariances.
  ThirdDerivatives thirds(const RowsAt& rows) const override {
    ThirdDerivatives out{Matrix(classes_ + 1, rows.count), Matrix(classes_, (classes_ + 1) * rows.count)};
    for (Index i = 0; i < rows.count; ++i) {
      const Deviations at = deviations(rows, i);
      out.size.col(i) = -weight(rows, i) * at.share;
      out.direction.middleCols(i * (classes_ + 1), classes_ + 1) = at.from_mean;
    }
    return out;
  }
  double contracted_fourths(const RowsAt& rows, ConstMatrixRef forms) const override {
    double sum = 0;
    Matrix h(classes_, classes_);
    for (Index i = 0; i < rows.count; ++i) {
      for (Index c = 0; c < classes_; ++c)
        for (Index d = 0; d < classes_; ++d) h(c, d) = forms(i, pair_place(c, d));
      const Deviations at = deviations(rows, i);
      const Vector lengths = (at.from_mean.transpose() * h * at.from_mean).diagonal();
      const Matrix product = at.from_mean * at.share.asDiagonal() * at.from_mean.transpose() * h;
      sum -= weight(rows, i) * (at.share.dot(lengths.cwiseAbs2()) - product.trace() * product.trace() -
                                2 * product.cwiseProduct(product.transpose()).sum());
    }
    return sum;
  }

 private:
  /// Probabilities p of all classes, the first one's last, and the columns e_k - p.
  struct Deviations {
    Vector share;
    Matrix from_mean;
  };
  Deviations deviations(const RowsAt& rows, Index i) const {
    Vector p(classes_);
    probabilities(rows, i, p);
    Deviations out{Vector(classes_ + 1), Matrix::Zero(classes_, classes_ + 1)};
    out.share << p, std::max(0.0, 1 - p.sum());
    out.from_mean.leftCols(classes_).setIdentity();
    out.from_mean.colwise() -= p;
    return out;
  }
  Index response(const RowsAt& rows, Index i) const {
    return static_cast<Index>(problem_.data.response(rows.first + i));
  }
  double weight(const RowsAt& rows, Index i) const { return problem_.weight(rows.first + i); }

  /// log p of the row's class; the probabilities of all classes but the first go to `p`.
  double probabilities(const RowsAt& rows, Index i, Vector& p) const {
    for (Index c = 0; c < classes_; ++c) p(c) = rows.eta[c * rows.stride + i];
    const Index y = response(rows, i);
    const double own = y == 0 ? 0.0 : p(y - 1), top = std::max(0.0, p.maxCoeff());
    double total = std::exp(-top);
    for (double& each : p) total += each = std::exp(each - top);
    p /= total;
    return own - top - std::log(total);
  }
  void put_slopes(const RowsAt& rows, Index i, const Vector& p, double* by_eta) const {
    const Index y = response(rows, i);
    for (Index c = 0; c < classes_; ++c)
      by_eta[c * rows.stride + i] = weight(rows, i) * ((y == c + 1 ? 1.0 : 0.0) - p(c));
  }

  const Problem& problem_;
  Index classes_;  // but the first
};

}  // namespace

std::unique_ptr<const RowLikelihood> make_row_likelihood(const Problem& problem) {
  if (problem.family) return std::make_unique<const FamilyRows>(problem);
  return std::make_unique<const SoftmaxRows>(problem);
}

}  // namespace magva::mixed
