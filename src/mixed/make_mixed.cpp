// Which way group effects are integrated out.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "magva/error.hpp"
#include "mixed/methods.hpp"

namespace magva {

namespace {

/// By Laplace's method a group with more effects takes less time, and is nearly as exact.
constexpr Index kMostEffectsOfFamilies = 3;

// A column of ones is an intercept, which has faster ways.
void drop_ones(GroupTerm& term) {
  if (term.z.cols() == 1 && (term.z.array() == 1).all()) term.z.resize(term.z.rows(), 0);
}

/// Nested groups with intercepts alone, and own parameters that every row depends on.
bool can_nest(const mixed::Problem& problem) {
  const std::vector<GroupTerm>& terms = problem.data.terms;
  return !terms.empty() && terms.size() <= mixed::kMostNestedLevels &&
         problem.family->distribution() != Distribution::ordered &&
         std::all_of(terms.begin(), terms.end(), [](const GroupTerm& term) { return term.z.cols() == 0; }) &&
         !mixed::nesting(terms).empty();
}

/// The locations of coefficients whose sds are unknown are 0.
void clear_unknown(mixed::Problem& problem) {
  for (Index j = 0; j < problem.coefficients(); ++j)
    if (problem.unknown_sd(j)) problem.priors.location(j) = 0;
}

void check_categorical(const MixedData& data, Index predictors) {
  for (Index i = 0; i < data.response.size(); ++i) {
    const double y = data.response(i);
    if (!(y >= 0 && y <= static_cast<double>(predictors) && y == std::floor(y)))
      throw DataError(fmt::format("the response in row {} is {}, but classes are numbered 0 to {}", i + 1, y,
                                  predictors));
  }
  if (data.trials.size() != 0 || data.status.size() != 0)
    throw DataError("a response with classes takes neither numbers of trials nor censored rows");
}

/// The priors once for each linear predictor.
MixedPriors repeated(const MixedPriors& priors, const std::vector<std::string>& prefixes, Index columns) {
  const auto count = static_cast<Index>(prefixes.size());
  MixedPriors all = priors;
  all.location = priors.location.replicate(count, 1);
  all.scale = priors.scale.replicate(count, 1);
  all.degrees_of_freedom = priors.degrees_of_freedom.replicate(count, 1);
  all.smooths.clear();
  all.sd_scale.clear();
  for (Index c = 0; c < count; ++c) {
    for (SmoothPrior smooth : priors.smooths) {
      smooth.name = prefixes[static_cast<std::size_t>(c)] + smooth.name;
      smooth.first += c * columns;
      all.smooths.push_back(std::move(smooth));
    }
    all.sd_scale.insert(all.sd_scale.end(), priors.sd_scale.begin(), priors.sd_scale.end());
  }
  return all;
}

/// Coefficients, terms and priors once for each class but the first.
mixed::Problem with_classes(MixedData data, const MixedPriors& priors,
                            const std::vector<std::string>& classes) {
  std::vector<std::string> prefixes;
  for (std::size_t k = 1; k < classes.size(); ++k) prefixes.push_back(classes[k] + ": ");
  MixedPriors all = repeated(priors, prefixes, data.design.cols());
  const std::vector<GroupTerm> terms = std::move(data.terms);
  const std::vector<std::string> names = std::move(data.names);
  data.terms.clear();
  data.names.clear();
  for (const std::string& prefix : prefixes) {
    for (const std::string& coefficient : names) data.names.push_back(prefix + coefficient);
    for (const GroupTerm& term : terms) {
      GroupTerm own = term;
      own.effects.clear();
      for (Index k = 0; k < term.effect_count(); ++k) own.effects.push_back(prefix + term.effect_name(k));
      data.terms.push_back(std::move(own));
    }
  }
  return {std::move(data), std::move(all), nullptr, static_cast<Index>(prefixes.size())};
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
  clear_unknown(problem);
  if (problem.family->distribution() == Distribution::gaussian)
    return mixed::make_closed_form(std::move(problem));
  const std::vector<GroupTerm>& terms = problem.data.terms;
  // Coefficients that a horseshoe shrinks are integrated out given their sds: a funnel is not left.
  if (!problem.priors.horseshoes.empty()) return mixed::make_laplace(std::move(problem));
  if (terms.size() == 1 && terms[0].effect_count() <= kMostEffectsOfFamilies)
    return mixed::make_quadrature(mixed::integrate_one_factor(std::move(problem)));
  if (can_nest(problem)) return mixed::make_quadrature(mixed::integrate_nested(std::move(problem)));
  return mixed::make_laplace(std::move(problem));
}

std::unique_ptr<const MixedModel> make_mixed_categorical(MixedData data, const MixedPriors& priors,
                                                         const std::vector<std::string>& classes) {
  if (classes.size() < 2) throw DataError("the response has one class: there is nothing to explain");
  for (GroupTerm& term : data.terms) drop_ones(term);
  check_categorical(data, static_cast<Index>(classes.size()) - 1);
  if (!priors.horseshoes.empty())
    throw UsageError(
        "a categorical response with groups takes no horseshoe priors: use normal or student_t ones, or "
        "leave the groups out");
  mixed::Problem problem = with_classes(std::move(data), priors, classes);
  mixed::check_problem(problem);
  clear_unknown(problem);
  if (problem.terms_each() == 1 &&
      problem.predictors * problem.data.terms[0].effect_count() <= mixed::kMostQuadratureEffects)
    return mixed::make_quadrature(mixed::integrate_one_factor(std::move(problem)));
  return mixed::make_laplace(std::move(problem));
}

}  // namespace magva
