#include "mixed/group_likelihood.hpp"

#include <algorithm>
#include <cmath>

namespace magva::mixed {

namespace {

/// One linear predictor and a response family.
class FamilyRows final : public GroupLikelihood {
 public:
  explicit FamilyRows(const Problem& problem) : problem_(problem) {}

  Vector values(const Group& group, const Matrix& v) const override {
    const Matrix eta = predictors(group, v);
    Vector out(v.cols());
    for (Index k = 0; k < v.cols(); ++k)
      out(k) = problem_.family->log_likelihood(rows(group), eta.col(k).data(), group.own, weight(group));
    return out;
  }

  GroupSlopes slopes(const Group& group, const Matrix& v) const override {
    const Index n = group.rows, owns = problem_.family->own_count();
    const Matrix eta = predictors(group, v);
    GroupSlopes out{Vector(v.cols()), Matrix(n, v.cols()), Matrix(owns, v.cols())};
    Vector value(n);
    Matrix by_own(n, owns);
    for (Index k = 0; k < v.cols(); ++k) {
      problem_.family->slopes(rows(group), eta.col(k).data(), group.own, value.data(),
                              out.by_eta.col(k).data(), by_own.data());
      if (weight(group)) {
        const Eigen::Map<const Vector> w(weight(group), n);
        value.array() *= w.array();
        out.by_eta.col(k).array() *= w.array();
        by_own.array().colwise() *= w.array();
      }
      out.value(k) = value.sum();
      out.by_own.col(k) = by_own.colwise().sum();
    }
    return out;
  }

  double curvature(const Group& group, const Vector& v, Vector& gradient, Matrix& precision) const override {
    const Index n = group.rows;
    const Vector eta = predictors(group, v);
    Vector values(n), by_eta(n), by_eta2(n);
    problem_.family->curvatures(rows(group), eta.data(), group.own, values.data(), by_eta.data(),
                                by_eta2.data());
    if (weight(group)) {
      const Eigen::Map<const Vector> w(weight(group), n);
      values.array() *= w.array();
      by_eta.array() *= w.array();
      by_eta2.array() *= w.array();
    }
    gradient = group.a[0] * by_eta;
    // Where the density is not log-concave its curvature is left out.
    precision = -group.a[0] * by_eta2.cwiseMin(0.0).asDiagonal() * group.a[0].transpose();
    return values.sum();
  }

 private:
  ResponseRows rows(const Group& group) const {
    return problem_.response().from(group.first_row, group.rows);
  }
  const double* weight(const Group& group) const {
    return problem_.data.weights.size() > 0 ? problem_.data.weights.data() + group.first_row : nullptr;
  }
  static Matrix predictors(const Group& group, const Matrix& v) {
    const Eigen::Map<const Vector> eta(group.eta, group.rows);
    return (group.a[0].transpose() * v).colwise() + eta;
  }

  const Problem& problem_;
};

/// Unordered classes, P(y = k) proportional to exp(eta_k) with eta_0 = 0.
class SoftmaxRows final : public GroupLikelihood {
 public:
  explicit SoftmaxRows(const Problem& problem) : problem_(problem) {}

  Vector values(const Group& group, const Matrix& v) const override {
    Vector out(v.cols());
    Matrix p;
    for (Index k = 0; k < v.cols(); ++k) out(k) = probabilities(group, v.col(k), p);
    return out;
  }

  GroupSlopes slopes(const Group& group, const Matrix& v) const override {
    GroupSlopes out{Vector(v.cols()), Matrix(group.rows * problem_.predictors, v.cols()),
                    Matrix(0, v.cols())};
    Matrix p;
    for (Index k = 0; k < v.cols(); ++k) {
      out.value(k) = probabilities(group, v.col(k), p);
      out.by_eta.col(k) = slopes_at(group, p).reshaped();
    }
    return out;
  }

  double curvature(const Group& group, const Vector& v, Vector& gradient, Matrix& precision) const override {
    Matrix p;
    const double value = probabilities(group, v, p);
    const Matrix by_eta = slopes_at(group, p);
    const Index q = group.a[0].rows(), count = problem_.predictors;
    gradient.resize(q * count);
    precision.resize(q * count, q * count);
    for (Index c = 0; c < count; ++c) {
      gradient.segment(c * q, q) = group.a[part(c)] * by_eta.col(c);
      for (Index d = 0; d <= c; ++d) {
        Vector w = -p.col(c).cwiseProduct(p.col(d));
        if (c == d) w += p.col(c);
        for (Index i = 0; i < w.size(); ++i) w(i) *= problem_.weight(group.first_row + i);
        precision.block(c * q, d * q, q, q) =
            group.a[part(c)] * w.asDiagonal() * group.a[part(d)].transpose();
        precision.block(d * q, c * q, q, q) = precision.block(c * q, d * q, q, q).transpose();
      }
    }
    return value;
  }

 private:
  static std::size_t part(Index predictor) { return static_cast<std::size_t>(predictor); }
  Index response(const Group& group, Index i) const {
    return static_cast<Index>(problem_.data.response(group.first_row + i));
  }

  /// The sum of the log likelihoods; P of each class but the first goes to a column of `p`.
  double probabilities(const Group& group, const Vector& v, Matrix& p) const {
    const Index q = group.a[0].rows(), count = problem_.predictors;
    p.resize(group.rows, count);
    for (Index c = 0; c < count; ++c)
      p.col(c) = Eigen::Map<const Vector>(group.eta + c * group.stride, group.rows) +
                 group.a[part(c)].transpose() * v.segment(c * q, q);
    double sum = 0;
    for (Index i = 0; i < group.rows; ++i) {
      const Index y = response(group, i);
      const double top = std::max(0.0, p.row(i).maxCoeff()), own = y == 0 ? 0.0 : p(i, y - 1);
      p.row(i) = (p.row(i).array() - top).exp();
      const double total = std::exp(-top) + p.row(i).sum();
      p.row(i) /= total;
      sum += problem_.weight(group.first_row + i) * (own - top - std::log(total));
    }
    return sum;
  }

  Matrix slopes_at(const Group& group, const Matrix& p) const {
    Matrix out = -p;
    for (Index i = 0; i < group.rows; ++i) {
      if (const Index y = response(group, i); y > 0) out(i, y - 1) += 1;
      out.row(i) *= problem_.weight(group.first_row + i);
    }
    return out;
  }

  const Problem& problem_;
};

}  // namespace

std::unique_ptr<const GroupLikelihood> make_group_likelihood(const Problem& problem) {
  if (problem.family) return std::make_unique<const FamilyRows>(problem);
  return std::make_unique<const SoftmaxRows>(problem);
}

}  // namespace magva::mixed
