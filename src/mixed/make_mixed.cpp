// Which way group effects are integrated out.
#include <fmt/format.h>

#include "magva/error.hpp"
#include "mixed/methods.hpp"

namespace magva {

namespace {

std::shared_ptr<const ResponseFamily> gaussian_family(double sigma_rate) {
  return make_response_family(Distribution::gaussian, Link::identity,
                              {{"sigma", PositivePrior::exponential(sigma_rate)}});
}

}  // namespace

const char* to_string(MixedMethod method) {
  switch (method) {
    case MixedMethod::closed_form:
      return "closed form";
    case MixedMethod::quadrature:
      return "quadrature";
    case MixedMethod::laplace:
      return "Laplace";
  }
  return "";
}

std::unique_ptr<const MixedModel> make_mixed(MixedData data, MixedPriors priors,
                                             std::shared_ptr<const ResponseFamily> family) {
  if (!family) family = gaussian_family(priors.sigma_rate);
  mixed::Problem problem{std::move(data), std::move(priors), std::move(family)};
  mixed::check_problem(problem);
  if (problem.family->distribution() == Distribution::gaussian)
    return mixed::make_closed_form(std::move(problem));
  throw UsageError("group effects need a gaussian response");
}

}  // namespace magva
