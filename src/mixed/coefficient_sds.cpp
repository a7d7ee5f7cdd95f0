#include "mixed/coefficient_sds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/half_cauchy.hpp"

namespace magva::mixed {

namespace {

// A search starts from sds of this share of their prior's scale.
constexpr double kSmoothStartShare = .4;
constexpr double kSmoothDegreesOfFreedom = 3;
constexpr double kSlabDegreesOfFreedom = 4;

PositivePrior slab_variance_prior(const ShrinkagePrior& prior) {
  const double half = .5 * kSlabDegreesOfFreedom;
  return PositivePrior::inverse_gamma(half, half * std::pow(prior.slab_scale.value_or(1), 2));
}

template <class Prior>
bool has_column(const std::vector<Prior>& priors, Index j) {
  return std::any_of(priors.begin(), priors.end(),
                     [j](const Prior& prior) { return j >= prior.first && j < prior.first + prior.count; });
}

}  // namespace

bool has_unknown_sd(const MixedPriors& priors, Index j) {
  return has_column(priors.smooths, j) || has_column(priors.horseshoes, j);
}

CoefficientSds::CoefficientSds(const MixedPriors& priors, std::vector<std::string> names)
    : names_(std::move(names)) {
  for (const SmoothPrior& prior : priors.smooths)
    smooths_.push_back(
        {prior, PositivePrior::half_student_t(kSmoothDegreesOfFreedom, prior.sd_scale), size_++});
  for (const ShrinkagePrior& prior : priors.horseshoes) {
    horseshoes_.push_back({prior, slab_variance_prior(prior), size_});
    size_ += prior.count + (prior.slab_scale ? 2 : 1);
  }
}

double CoefficientSds::horseshoe_log_prior(const Horseshoe& horseshoe, const double* at, double* gradient) {
  double sum = 0;
  const auto half_cauchy = [&](Index i, double scale) {
    const detail::LogHalfCauchy density = detail::log_half_cauchy(at[i] - std::log(scale));
    sum += density.value;
    gradient[i] += density.derivative;
  };
  for (Index j = 0; j < horseshoe.prior.count; ++j) half_cauchy(horseshoe.at + j, 1);
  half_cauchy(horseshoe.tau(), horseshoe.prior.global_scale);
  if (horseshoe.prior.slab_scale) {
    const LogScaleDensity density = horseshoe.slab_variance.at(2 * at[horseshoe.slab()]);  // of log c^2
    sum += density.value + std::log(2.0);
    gradient[horseshoe.slab()] += 2 * density.first;
  }
  return sum;
}

double CoefficientSds::log_prior(const double* at, double* gradient) const {
  double sum = 0;
  for (const Smooth& smooth : smooths_) {
    const LogScaleDensity density = smooth.sd.at(at[smooth.at]);
    sum += density.value;
    gradient[smooth.at] += density.first;
  }
  for (const Horseshoe& horseshoe : horseshoes_) sum += horseshoe_log_prior(horseshoe, at, gradient);
  return sum;
}

void CoefficientSds::start(double* at) const {
  for (const Smooth& smooth : smooths_) at[smooth.at] = std::log(kSmoothStartShare * smooth.prior.sd_scale);
  for (const Horseshoe& horseshoe : horseshoes_) {
    std::fill_n(at + horseshoe.at, horseshoe.prior.count, 0.0);
    at[horseshoe.tau()] = std::log(horseshoe.prior.global_scale);
    if (horseshoe.prior.slab_scale) at[horseshoe.slab()] = std::log(*horseshoe.prior.slab_scale);
  }
}

std::vector<std::string> CoefficientSds::names() const {
  std::vector<std::string> out;
  for (const Smooth& smooth : smooths_) out.push_back(fmt::format("sd({})", smooth.prior.name));
  for (const Horseshoe& horseshoe : horseshoes_) {
    for (Index j = 0; j < horseshoe.prior.count; ++j)
      out.push_back(fmt::format("lambda[{}]", names_[static_cast<std::size_t>(horseshoe.prior.first + j)]));
    out.emplace_back("tau");
    if (horseshoe.prior.slab_scale) out.emplace_back("c");
  }
  return out;
}

CoefficientSds::LogSd CoefficientSds::log_sd(const Horseshoe& horseshoe, const double* at, Index j) {
  const double a = at[horseshoe.tau()] + at[horseshoe.at + j];
  if (!horseshoe.prior.slab_scale) return {a, 1};
  const double gap = 2 * (at[horseshoe.slab()] - a);
  return {std::min(a, at[horseshoe.slab()]) - .5 * std::log1p(std::exp(-std::abs(gap))),
          1 / (1 + std::exp(-gap))};
}

void CoefficientSds::set(const double* at, Vector& sds) const {
  for (const Smooth& smooth : smooths_)
    sds.segment(smooth.prior.first, smooth.prior.count).setConstant(std::exp(at[smooth.at]));
  for (const Horseshoe& horseshoe : horseshoes_)
    for (Index j = 0; j < horseshoe.prior.count; ++j)
      sds(horseshoe.prior.first + j) = std::exp(log_sd(horseshoe, at, j).value);
}

void CoefficientSds::add_gradient(const double* at, ConstVectorRef by_log_sd, double* gradient) const {
  for (const Smooth& smooth : smooths_)
    gradient[smooth.at] += by_log_sd.segment(smooth.prior.first, smooth.prior.count).sum();
  for (const Horseshoe& horseshoe : horseshoes_)
    for (Index j = 0; j < horseshoe.prior.count; ++j) {
      const double by_tail = log_sd(horseshoe, at, j).by_tail;
      const double slope = by_log_sd(horseshoe.prior.first + j);
      gradient[horseshoe.at + j] += slope * by_tail;
      gradient[horseshoe.tau()] += slope * by_tail;
      if (horseshoe.prior.slab_scale) gradient[horseshoe.slab()] += slope * (1 - by_tail);
    }
}

}  // namespace magva::mixed
