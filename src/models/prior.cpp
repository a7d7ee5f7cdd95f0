#include "models/prior.hpp"

#include <fmt/format.h>

#include <cmath>

#include "magva/error.hpp"
#include "models/priors.hpp"

namespace magva {

namespace {

void require_positive(double value, const char* name, std::vector<std::string>& found) {
  if (!(value > 0.0 && std::isfinite(value)))
    found.push_back(fmt::format("{} is {}, but it must be a positive number", name, value));
}

std::shared_ptr<const CoefficientPrior> prior_for(const NormalPriorOptions& options, Index coefficients) {
  return detail::normal_prior(options, coefficients);
}

std::shared_ptr<const CoefficientPrior> prior_for(const HorseshoeOptions& options, Index coefficients) {
  return options.form == HorseshoeForm::centred ? detail::centred_horseshoe(options, coefficients)
                                                : detail::noncentred_horseshoe(options, coefficients);
}

std::shared_ptr<const CoefficientPrior> prior_for(const AutoregressivePriorOptions& options,
                                                  Index coefficients) {
  return detail::autoregressive_prior(options, coefficients);
}

}  // namespace

std::vector<std::string> NormalPriorOptions::validate() const {
  std::vector<std::string> found;
  require_positive(variance, "the prior variance", found);
  return found;
}

std::vector<std::string> HorseshoeOptions::validate() const {
  std::vector<std::string> found;
  require_positive(intercept_variance, "the prior variance of the intercept", found);
  require_positive(tau_scale, "tau_scale", found);
  if (start_log_tau && !std::isfinite(*start_log_tau))
    found.push_back(fmt::format("start_log_tau is {}, but it must be finite", *start_log_tau));
  return found;
}

std::vector<std::string> AutoregressivePriorOptions::validate() const {
  std::vector<std::string> found;
  require_positive(a_tau, "a_tau", found);
  require_positive(b_tau, "b_tau", found);
  if (!(psi_limit > 0.0 && psi_limit < 1.0))
    found.push_back(fmt::format("psi_limit is {}, but it must lie between 0 and 1", psi_limit));
  return found;
}

std::shared_ptr<const CoefficientPrior> make_prior(const PriorOptions& options, Index coefficients) {
  return std::visit(
      [&](const auto& chosen) {
        for (const std::string& problem : chosen.validate()) throw UsageError(problem);
        return prior_for(chosen, coefficients);
      },
      options);
}

}  // namespace magva
