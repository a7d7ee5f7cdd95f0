// Which way group effects are integrated out.
#include <algorithm>

#include "mixed/methods.hpp"

namespace magva {

namespace {

/// With more effects of a group the points of a product rule are too many.
constexpr Index kMostQuadratureEffects = 3;

// A column of ones is an intercept, which has faster ways.
void drop_ones(GroupTerm& term) {
  if (term.z.cols() == 1 && (term.z.array() == 1).all()) term.z.resize(term.z.rows(), 0);
}

bool intercepts_only(const std::vector<GroupTerm>& terms) {
  return std::all_of(terms.begin(), terms.end(), [](const GroupTerm& term) { return term.z.cols() == 0; });
}

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
  for (GroupTerm& term : data.terms) drop_ones(term);
  mixed::Problem problem{std::move(data), std::move(priors), std::move(family)};
  mixed::check_problem(problem);
  for (const SmoothPrior& smooth : problem.priors.smooths)
    problem.priors.location.segment(smooth.first, smooth.count).setZero();
  if (problem.family->distribution() == Distribution::gaussian)
    return mixed::make_closed_form(std::move(problem));
  const std::vector<GroupTerm>& terms = problem.data.terms;
  if (terms.size() == 1 && terms[0].effect_count() <= kMostQuadratureEffects)
    return mixed::make_quadrature(mixed::integrate_one_factor(std::move(problem)));
  if (terms.size() <= mixed::kMostNestedLevels && intercepts_only(terms) && !mixed::nesting(terms).empty())
    return mixed::make_quadrature(mixed::integrate_nested(std::move(problem)));
  return mixed::make_laplace(std::move(problem));
}

}  // namespace magva
