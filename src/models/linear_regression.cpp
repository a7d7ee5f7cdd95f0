#include <fmt/format.h>

#include <cmath>

#include "magva/error.hpp"
#include "magva/regression.hpp"

namespace magva {

namespace {

double standard_deviation(const RegressionData& data) {
  const Vector weights = data.weights.size() == 0 ? Vector::Ones(data.response.size()) : data.weights;
  const double total = weights.sum();
  const double mean = weights.dot(data.response) / total;
  return std::sqrt(weights.dot((data.response.array() - mean).square().matrix()) / total);
}

/// Data that Regression will refuse get 1 here, so that its sentence about them is the one that is heard.
double default_prior_scale(const RegressionData& data) {
  if (data.weights.size() != 0 && data.weights.size() != data.response.size()) return 1.0;
  const double sd = standard_deviation(data);
  return sd > 0.0 && std::isfinite(sd) ? sd : 1.0;
}

}  // namespace

std::vector<std::string> LinearOptions::validate() const {
  std::vector<std::string> found;
  const auto check = [&](const std::optional<double>& value, const char* name) {
    if (value && !(*value > 0.0 && std::isfinite(*value)))
      found.push_back(fmt::format("{} is {}, but it must be a positive number", name, *value));
  };
  check(noise_sd, "noise_sd");
  check(sigma_prior_scale, "sigma_prior_scale");
  return found;
}

Regression linear_regression(RegressionData data, const PriorOptions& prior, const LinearOptions& options) {
  for (const std::string& problem : options.validate()) throw UsageError(problem);
  const auto likelihood = options.noise_sd
                              ? gaussian_known_noise(*options.noise_sd)
                              : gaussian(options.sigma_prior_scale.value_or(default_prior_scale(data)));
  const Index q = data.design.cols();
  return {std::move(data), likelihood, make_prior(prior, q)};
}

}  // namespace magva
