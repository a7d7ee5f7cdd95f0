#include "magva/positive_prior.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "magva/error.hpp"
#include "models/logistic_normal.hpp"

namespace magva {

namespace {

void require_positive_argument(const char* distribution, double value) {
  if (!(value > 0.0 && std::isfinite(value)))
    throw UsageError(fmt::format("an argument of the prior {} is {}, but it must be a positive number",
                                 distribution, value));
}

}  // namespace

PositivePrior::PositivePrior(Kind kind, double shape, double scale, double constant)
    : kind_(kind), shape_(shape), scale_(scale), constant_(constant) {}

PositivePrior PositivePrior::gamma(double shape, double rate) {
  require_positive_argument("gamma", shape);
  require_positive_argument("gamma", rate);
  return {Kind::gamma, shape, rate, shape * std::log(rate) - std::lgamma(shape)};
}

PositivePrior PositivePrior::inverse_gamma(double shape, double scale) {
  require_positive_argument("inv_gamma", shape);
  require_positive_argument("inv_gamma", scale);
  return {Kind::inverse_gamma, shape, scale, shape * std::log(scale) - std::lgamma(shape)};
}

PositivePrior PositivePrior::half_student_t(double degrees_of_freedom, double scale) {
  require_positive_argument("student_t", degrees_of_freedom);
  require_positive_argument("student_t", scale);
  const double nu = degrees_of_freedom;
  return {Kind::half_student_t, nu, scale,
          std::log(2.0) + std::lgamma(.5 * (nu + 1)) - std::lgamma(.5 * nu) -
              .5 * std::log(nu * std::numbers::pi) - std::log(scale)};
}

// All three are linear in u but for one convex term: exp(u), exp(-u), or log(1 + exp(2 u - c)).
LogScaleDensity PositivePrior::at(double u) const {
  if (kind_ == Kind::half_student_t) {
    const double w = 2 * u - std::log(shape_ * scale_ * scale_);
    const double softplus = std::max(w, 0.0) + std::log1p(std::exp(-std::abs(w)));
    const double p = 1 / (1 + std::exp(-w));
    return {constant_ + u - .5 * (shape_ + 1) * softplus, 1 - (shape_ + 1) * p,
            -2 * (shape_ + 1) * p * (1 - p)};
  }
  const double sign = kind_ == Kind::gamma ? 1 : -1;
  const double power = scale_ * std::exp(sign * u);
  return {constant_ + sign * shape_ * u - power, sign * (shape_ - power), -power};
}

NuisanceSums PositivePrior::expect(const NormalMarginal& u) const {
  if (kind_ == Kind::half_student_t) {
    const detail::LogisticNormal w =
        detail::logistic_normal(2 * u.mean - std::log(shape_ * scale_ * scale_), 4 * u.variance);
    return {constant_ + u.mean - .5 * (shape_ + 1) * w.value, 1 - (shape_ + 1) * w.slope,
            2 * (shape_ + 1) * w.curvature};
  }
  const double sign = kind_ == Kind::gamma ? 1 : -1;
  const double power = scale_ * std::exp(sign * u.mean + .5 * u.variance);
  return {constant_ + sign * shape_ * u.mean - power, sign * (shape_ - power), power};
}

double PositivePrior::mode() const {
  switch (kind_) {
    case Kind::gamma:
      return std::log(shape_ / scale_);
    case Kind::inverse_gamma:
      return std::log(scale_ / shape_);
    case Kind::half_student_t:
      return std::log(scale_);
  }
  return 0;
}

std::string PositivePrior::to_string() const {
  switch (kind_) {
    case Kind::gamma:
      return shape_ == 1 ? fmt::format("exponential({:.4g})", scale_)
                         : fmt::format("gamma({:.4g}, {:.4g})", shape_, scale_);
    case Kind::inverse_gamma:
      return fmt::format("inv_gamma({:.4g}, {:.4g})", shape_, scale_);
    case Kind::half_student_t:
      return shape_ == 1 ? fmt::format("half_cauchy(0, {:.4g})", scale_)
                         : fmt::format("half_student_t({:.4g}, 0, {:.4g})", shape_, scale_);
  }
  return {};
}

}  // namespace magva
