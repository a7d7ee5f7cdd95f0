#include "source/default_priors.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <variant>

namespace magva::source {

namespace {

template <class Scalar, class Visit>
void for_each_row(const DenseRows<Scalar>& x, Visit&& visit) {
  for (Index i = 0; i < x.rows; ++i) {
    const Scalar* row = x.data + i * x.stride;
    for (Index j = 0; j < x.cols; ++j) visit(j, static_cast<double>(row[j]));
  }
}

template <class Visit>
void for_each_row(const SparseRows& x, Visit&& visit) {
  for (Index i = 0; i < x.rows; ++i)
    for (std::int64_t k = x.starts[i]; k < x.starts[i + 1]; ++k) visit(x.columns[k], x.values[k]);
}

/// A value near the column's own: sums of squares about it do not cancel.
Vector first_row(const Design& design) {
  Vector out = Vector::Zero(design.cols());
  std::visit(
      [&](auto x) {
        x.rows = std::min<Index>(x.rows, 1);
        for_each_row(x, [&](Index j, double value) { out(j) = value; });
      },
      design.storage());
  return out;
}

double standard_deviation(const Vector& y) {
  return std::sqrt((y.array() - y.mean()).square().sum() / std::max(1.0, static_cast<double>(y.size()) - 1));
}

double positive_or_one(double value) { return value > 0 && std::isfinite(value) ? value : 1; }

}  // namespace

void MomentSums::add(const Design& part) {
  if (rows_ == 0) {
    const bool sparse = std::holds_alternative<SparseRows>(part.storage());
    pivot_ = sparse ? Vector(Vector::Zero(part.cols())) : first_row(part);
    sums_ = squares_ = Vector::Zero(part.cols());
  }
  std::visit(
      [&](const auto& x) {
        for_each_row(x, [&](Index j, double value) {
          const double shifted = value - pivot_(j);
          sums_(j) += shifted;
          squares_(j) += shifted * shifted;
        });
      },
      part.storage());
  rows_ += part.rows();
}

DesignMoments MomentSums::finish() const {
  const auto n = static_cast<double>(rows_);
  const Vector shift = sums_ / n;
  const Vector variance = (squares_ - n * shift.cwiseAbs2()) / std::max(1.0, n - 1);
  return {pivot_ + shift, variance.cwiseMax(0).cwiseSqrt()};
}

DesignMoments design_moments(const Design& design) {
  MomentSums sums;
  sums.add(design);
  return sums.finish();
}

PredictorScale identity_scale(const Vector& response) {
  return {response.mean(), kPriorScale * positive_or_one(standard_deviation(response))};
}

PredictorScale log_scale(const Vector& response, const Vector& offset) {
  const double expected =
      offset.size() > 0 ? offset.array().exp().sum() : static_cast<double>(response.size());
  const double rate = response.sum() / expected;
  return {rate > 0 && std::isfinite(std::log(rate)) ? std::log(rate) : 0, kPriorScale};
}

IndependentPriors default_priors(const DesignMoments& moments, const PredictorScale& response, bool centred) {
  const Index q = moments.mean.size();
  IndependentPriors priors{Vector::Zero(q), Vector(q), Vector()};
  double variance = response.scale * response.scale;
  for (Index j = 1; j < q; ++j) {
    priors.scale(j) = response.scale / positive_or_one(moments.sd(j));
    if (!centred) variance += std::pow(moments.mean(j) * priors.scale(j), 2);
  }
  priors.location(0) = response.location;
  priors.scale(0) =
      std::isfinite(variance) ? std::sqrt(variance) : std::sqrt(std::numeric_limits<double>::max());
  return priors;
}

IndependentPriors default_priors_through_zero(const DesignMoments& moments, const PredictorScale& response) {
  const Index q = moments.mean.size();
  IndependentPriors priors{Vector::Zero(q), Vector(q), Vector()};
  const double scale = std::hypot(response.scale, kPriorScale * response.location);
  for (Index j = 0; j < q; ++j)
    priors.scale(j) = scale / positive_or_one(std::hypot(moments.sd(j), moments.mean(j)));
  return priors;
}

std::string prior_text(const IndependentPriors& priors, Index j) {
  const double nu = priors.degrees(j);
  if (std::isinf(nu)) return fmt::format("normal({:.4g}, {:.4g})", priors.location(j), priors.scale(j));
  return fmt::format("student_t({:.4g}, {:.4g}, {:.4g})", nu, priors.location(j), priors.scale(j));
}

std::vector<PriorRecord> prior_records(const IndependentPriors& priors,
                                       const std::vector<std::string>& names) {
  std::vector<PriorRecord> records;
  for (Index j = 0; j < priors.size(); ++j) {
    const bool known = std::isinf(priors.degrees(j));
    records.push_back({names[static_cast<std::size_t>(j)], prior_text(priors, j), priors.location(j),
                       known ? std::optional(priors.scale(j)) : std::nullopt});
  }
  return records;
}

}  // namespace magva::source
