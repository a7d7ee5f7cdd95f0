#include <algorithm>

#include "magva/error.hpp"
#include "magva/fit.hpp"
#include "magva/formula_model.hpp"
#include "magva/mixed.hpp"
#include "magva/model_source.hpp"
#include "source/formula_reporter.hpp"

namespace magva::source {

namespace {

/// What a summary will show, unless that is theta itself.
std::optional<Quantities> reported_quantities(const Reporter& reporter, std::uint64_t seed) {
  const std::vector<Quantity> all = reporter.quantities();
  if (std::all_of(all.begin(), all.end(), [](const Quantity& q) { return q.coordinate.has_value(); }))
    return std::nullopt;
  Quantities out;
  for (const Quantity& quantity : all) out.names.push_back(quantity.name);
  out.at = [&reporter, seed](ConstMatrixRef theta) { return reporter.report(theta, seed); };
  return out;
}

}  // namespace

namespace {

constexpr Index kGroupDraws = 1000;

/// Group effects are integrated out: a fit of the few parameters that are left.
FitResult fit_with_groups(const ModelSource& source, const FitOptions& options,
                          const std::vector<Observer>& observers) {
  if (options.algorithm1)
    throw UsageError(
        "a formula with groups or smooth terms is fitted by the default optimiser: leave out --rule");
  if (options.shape != ShapeChoice::kAutomatic && options.shape != ShapeChoice::kGaussian)
    throw UsageError(
        "a formula with groups or smooth terms takes its draws by importance, whatever the shape of their "
        "posterior: leave out --shape");
  FitOptions gaussian = options;
  gaussian.shape = ShapeChoice::kGaussian;
  MixedPosterior found = fit_mixed(*source.mixed, kGroupDraws, gaussian, observers);
  keep_draws(*source.reporter, found.fit.posterior, std::move(found.draws.theta));
  return std::move(found.fit);
}

}  // namespace

FitResult fit(const ModelSource& source, FitOptions options, const std::vector<Observer>& observers) {
  if (!options.init) options.init = source.start;
  if (source.mixed) return fit_with_groups(source, options, observers);
  options.diagnostic_draws = source.diagnostic_draws;
  if (!options.quantities) options.quantities = reported_quantities(*source.reporter, options.seed);
  return magva::fit(source.fitted_model(), options, observers);
}

std::optional<ModelSpec> stored_spec(const ModelSource& source, const Gaussian& posterior) {
  std::optional<ModelSpec> spec = source.spec;
  if (!spec || !source.mixed) return spec;
  auto model = std::make_shared<FormulaModel>(*spec->formula);
  model->draws = source.reporter->joint_draws(posterior);
  spec->formula = std::move(model);
  return spec;
}

}  // namespace magva::source
