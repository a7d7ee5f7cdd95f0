#include <algorithm>

#include "magva/fit.hpp"
#include "magva/model_source.hpp"

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

FitResult fit(const ModelSource& source, FitOptions options, const std::vector<Observer>& observers) {
  if (!options.init) options.init = source.start;
  options.diagnostic_draws = source.diagnostic_draws;
  if (!options.quantities) options.quantities = reported_quantities(*source.reporter, options.seed);
  return magva::fit(source.fitted_model(), options, observers);
}

}  // namespace magva::source
