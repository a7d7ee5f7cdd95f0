#include "commands/correction.hpp"

#include <fmt/format.h>

#include "commands/sources.hpp"
#include "magva/correct.hpp"
#include "magva/error.hpp"
#include "magva/formula_model.hpp"

namespace magva::commands {

namespace {

using options::Values;
using results::StoredFit;

/// A Stan model is code, and the folder may be a stranger's: what it names is not run unless the user names
/// it too.
std::string stan_model(const StoredFit& fit, const Values& values) {
  if (values.given("stan-model")) return values.text("stan-model");
  throw UsageError(
      fmt::format("draws of this fit need its Stan model, which is code that will be run: if you trust it, "
                  "name it with --stan-model {}",
                  fit.record.arguments[0]));
}

bool has_stored_draws(const StoredFit& fit) {
  return fit.spec && fit.spec->formula && (fit.spec->formula->grouped() || fit.spec->formula->draws);
}

}  // namespace

bool is_stan_fit(const StoredFit& fit) {
  return !fit.record.arguments.empty() && source::is_stan_file(fit.record.arguments[0]);
}

source::ModelSource source_of(const StoredFit& fit, const Values& values) {
  Values fit_values = recorded_values(fit.record);
  if (values.given("data-file")) fit_values.arguments = {values.text("data-file")};
  if (is_stan_fit(fit)) fit_values.arguments = {stan_model(fit, values)};
  if (fit_values.arguments == std::vector<std::string>{"-"})
    throw UsageError(
        "the fit read its data from standard input: log densities need them again, name them with "
        "--data-file");
  source::ModelSource source = make_source(fit_values);
  if (source.data.sha256 != fit.record.data.sha256)
    throw DataError(
        fmt::format("'{}' is not the data of the fit: its content has changed", source.data.file));
  if (source.model->dimension() != fit.posterior.dimension())
    throw DataError(
        fmt::format("the fit has {} parameters, but this version fits {} to its data: fit them again",
                    fit.posterior.dimension(), source.model->dimension()));
  return source;
}

std::vector<options::OptionSpec> source_options() {
  using options::ValueKind;
  return {{.name = "data-file",
           .value = "FILE",
           .standard = "",
           .help = "where the data of the fit are now",
           .kind = ValueKind::file},
          {.name = "stan-model",
           .value = "FILE",
           .standard = "",
           .help = "of a fit of a Stan model: the program or library, which is code and will be run",
           .kind = ValueKind::file}};
}

options::OptionSpec correct_option(const std::string& what) {
  return {.name = "correct",
          .value = "",
          .standard = "",
          .help = fmt::format("{} nearer to the posterior, by importance weights; refused if k-hat is above "
                              ".7; reads the data again",
                              what),
          .kind = options::ValueKind::flag};
}

Matrix corrected_draws(const StoredFit& fit, const Values& values, Index count, std::uint64_t seed) {
  if (has_stored_draws(fit))
    throw UsageError(
        "the draws of a fit with groups or smooth terms are chosen by importance weights already: leave out "
        "--correct");
  return importance_corrected_draws(*source_of(fit, values).model, fit.posterior.best(), count, seed);
}

}  // namespace magva::commands
