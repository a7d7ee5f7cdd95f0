#include "mixed/effect_scale.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>

#include "magva/error.hpp"

namespace magva::mixed {

namespace {

constexpr double kSdDegreesOfFreedom = 3;

// log(1 - tanh(z)^2) without overflow.
double log_sech2(double z) {
  const double a = std::abs(z);
  return 2 * (std::log(2.0) - a - std::log1p(std::exp(-2 * a)));
}

}  // namespace

EffectScale::EffectScale(const GroupTerm& term, ConstVectorRef sd_scale, double lkj)
    : group_(term.name),
      effects_(term.effect_count()),
      correlations_(term.correlated ? effects_ * (effects_ - 1) / 2 : 0) {
  if (sd_scale.size() != effects_)
    throw UsageError(
        fmt::format("the priors have {} scales for the {} effects of group {}: give one for each",
                    sd_scale.size(), effects_, group_));
  if (!(lkj > 0) || !std::isfinite(lkj))
    throw UsageError(fmt::format("the shape of the LKJ prior is {} and must be positive", lkj));
  for (Index k = 0; k < effects_; ++k) {
    names_.push_back(term.effect_name(k));
    sd_prior_.push_back(PositivePrior::half_student_t(kSdDegreesOfFreedom, sd_scale(k)));
  }
  beta_shape_.resize(effects_);
  beta_constant_.resize(effects_);
  for (Index j = 0; j + 1 < effects_; ++j) {
    const double b = lkj + .5 * static_cast<double>(effects_ - 2 - j);
    beta_shape_(j) = b;
    beta_constant_(j) = std::lgamma(2 * b) - 2 * std::lgamma(b) - (2 * b - 1) * std::log(2.0);
  }
}

Matrix EffectScale::correlation_factor(const double* at) const {
  Matrix l = Matrix::Identity(effects_, effects_);
  if (correlations_ == 0) return l;
  const double* z = at + effects_;
  for (Index i = 1; i < effects_; ++i) {
    double left = 1;
    for (Index j = 0; j < i; ++j, ++z) {
      l(i, j) = std::tanh(*z) * left;
      left *= std::exp(.5 * log_sech2(*z));
    }
    l(i, i) = left;
  }
  return l;
}

Matrix EffectScale::lambda(const double* at) const {
  Matrix l = correlation_factor(at);
  for (Index i = 0; i < effects_; ++i) l.row(i) *= std::exp(at[i]);
  return l;
}

double EffectScale::log_prior(const double* at, double* gradient) const {
  double sum = 0;
  for (Index i = 0; i < effects_; ++i) {
    const LogScaleDensity density = sd_prior_[static_cast<std::size_t>(i)].at(at[i]);
    sum += density.value;
    gradient[i] += density.first;
  }
  if (correlations_ == 0) return sum;
  // Partial correlation w = tanh(z) has density (1 - w^2)^(b - 1) / (2^(2b - 1) B(b, b)), and dw/dz = 1 -
  // w^2.
  Index k = effects_;
  for (Index i = 1; i < effects_; ++i)
    for (Index j = 0; j < i; ++j, ++k) {
      const double b = beta_shape_(j);
      sum += b * log_sech2(at[k]) + beta_constant_(j);
      gradient[k] -= 2 * b * std::tanh(at[k]);
    }
  return sum;
}

void EffectScale::add_gradient(const double* at, const Matrix& m, double* gradient) const {
  const Matrix l = correlation_factor(at);
  // Lambda^-1 dLambda is L^-1 e_i e_i' L for log sd i, and L^-1 dL for the correlations.
  const Matrix right = l.triangularView<Eigen::Lower>().transpose().solve(m);  // L^-T M
  for (Index i = 0; i < effects_; ++i) gradient[i] += right.row(i).dot(l.row(i));
  if (correlations_ == 0) return;
  Index k = effects_;
  for (Index i = 1; i < effects_; ++i) {
    const Index begin = k;
    for (Index j = 0; j < i; ++j, ++k) {
      // All later entries of the row shrink by sech(z).
      const double w = std::tanh(at[k]);
      double left = 1;
      for (Index t = begin; t < k; ++t) left *= std::exp(.5 * log_sech2(at[t]));
      double slope = right(i, j) * left * std::exp(log_sech2(at[k]));
      for (Index t = j + 1; t <= i; ++t) slope -= right(i, t) * l(i, t) * w;
      gradient[k] += slope;
    }
  }
}

void EffectScale::quantities(const double* at, double* out) const {
  for (Index i = 0; i < effects_; ++i) *out++ = std::exp(at[i]);
  if (correlations_ == 0) return;
  const Matrix l = correlation_factor(at);
  for (Index i = 1; i < effects_; ++i)
    for (Index j = 0; j < i; ++j) *out++ = l.row(i).dot(l.row(j));
}

std::vector<std::string> EffectScale::coordinate_names() const {
  std::vector<std::string> names;
  for (const std::string& name : names_) names.push_back(fmt::format("log_sd({}: {})", group_, name));
  if (correlations_ == 0) return names;
  for (std::size_t i = 1; i < names_.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      names.push_back(fmt::format("atanh_partial_cor({}: {}, {})", group_, names_[j], names_[i]));
  return names;
}

std::vector<std::string> EffectScale::quantity_names() const {
  std::vector<std::string> names;
  for (const std::string& name : names_) names.push_back(fmt::format("sd({}: {})", group_, name));
  if (correlations_ == 0) return names;
  for (std::size_t i = 1; i < names_.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      names.push_back(fmt::format("cor({}: {}, {})", group_, names_[j], names_[i]));
  return names;
}

}  // namespace magva::mixed
