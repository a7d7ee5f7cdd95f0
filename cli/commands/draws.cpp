#include <fmt/format.h>
#include <fmt/ostream.h>

#include <iostream>
#include <limits>

#include "commands/commands.hpp"
#include "commands/sources.hpp"
#include "core/atomic_file.hpp"
#include "exit_codes.hpp"
#include "magva/diagnostics.hpp"
#include "magva/draws.hpp"
#include "magva/error.hpp"
#include "magva/fit_folder.hpp"
#include "options/option_spec.hpp"

namespace magva::commands {

namespace {

using options::Values;
using results::Draws;
using results::StoredFit;

/// The model with its data, which must be those of the fit.
source::ModelSource source_of(const StoredFit& fit, const Values& values) {
  Values fit_values = recorded_values(fit.record);
  if (values.given("data-file")) fit_values.arguments = {values.text("data-file")};
  if (fit_values.arguments == std::vector<std::string>{"-"})
    throw UsageError(
        "the fit read its data from standard input: log densities need them again, name them with "
        "--data-file");
  source::ModelSource source = make_source(fit_values);
  if (source.data.sha256 != fit.record.data.sha256)
    throw DataError(
        fmt::format("'{}' is not the data of the fit: its content has changed", source.data.file));
  return source;
}

Matrix draw_theta(const StoredFit& fit, const std::optional<source::ModelSource>& source,
                  const Values& values, std::uint64_t seed) {
  const Index count = values.integer("number");
  if (!values.flag("resample")) return fit.posterior.draws(count, seed);
  return importance_resample(*source->model, fit.posterior, count, seed);
}

void write(const Draws& draws, const StoredFit& fit, const Values& values, std::uint64_t seed) {
  const std::string format = values.text("format");
  if (format == "csv") {
    if (values.given("out"))
      io::write_text(values.text("out"), [&](std::ostream& out) { results::write_csv(out, draws); });
    else
      results::write_csv(std::cout, draws);
    return;
  }
  const results::Origin origin{fit.record.model, seed, fit.record.family};
  if (format == "cmdstan-csv") {
    results::write_cmdstan_csv(values.text("out"), draws, origin);
    return;
  }
  results::write_netcdf(values.text("out"), draws, origin);
}

int run_draws(const Values& values) {
  const bool plain = values.text("format") == "csv";
  if (!plain && !values.given("out"))
    throw UsageError(fmt::format("--format {} writes a file: name it with --out", values.text("format")));
  const StoredFit fit = results::load_fit(values.arguments.at(0));
  const auto seed = static_cast<std::uint64_t>(values.integer("seed"));
  const bool densities = values.flag("log-density") || !plain;
  std::optional<source::ModelSource> source;
  if (densities || values.flag("resample")) source = source_of(fit, values);
  const Matrix theta = draw_theta(fit, source, values, seed);
  const Draws draws = densities ? results::take_draws(*source, fit.posterior, theta, seed)
                                : results::take_draws(*make_reporter(fit), theta, seed);
  write(draws, fit, values, seed);
  return kOk;
}

std::vector<options::OptionGroup> draws_option_groups() {
  using options::ValueKind;
  return {
      {"Draws",
       {{.name = "number",
         .value = "N",
         .standard = "1000",
         .help = "how many draws",
         .kind = ValueKind::integer,
         .check = options::integer_between(1, 100'000'000),
         .letter = 'n'},
        {.name = "seed",
         .value = "N",
         .standard = "1",
         .help = "the seed of the draws",
         .kind = ValueKind::integer,
         .check = options::integer_between(0, std::numeric_limits<std::int64_t>::max())},
        {.name = "log-density",
         .value = "",
         .standard = "",
         .help =
             "add log_q, the normalised log density of the fit, and log_p, the model's; reads the data again",
         .kind = ValueKind::flag},
        {.name = "resample",
         .value = "",
         .standard = "",
         .help = "draws nearer to the posterior: out of ten times as many, chosen by their importance "
                 "weights, none "
                 "twice; refused if k-hat is above .7; reads the data again",
         .kind = ValueKind::flag},
        {.name = "data-file",
         .value = "FILE",
         .standard = "",
         .help = "where the data of the fit are now",
         .kind = ValueKind::file}}},
      {"Output",
       {{.name = "format",
         .value = "WORD",
         .standard = "csv",
         .help = "the format; cmdstan-csv and netcdf hold log densities too",
         .check = options::one_of({"csv", "cmdstan-csv", "netcdf"}),
         .choices = {"csv", "cmdstan-csv", "netcdf"}},
        {.name = "out",
         .value = "FILE",
         .standard = "",
         .help = "write here instead of to standard output",
         .kind = ValueKind::file}}}};
}

}  // namespace

options::Command draws() {
  return {.name = "draws",
          .summary = "draw parameters from a fit",
          .description =
              "Writes draws from the posterior of a fit, one line a draw, one column a parameter, on the "
              "scale on "
              "which 'magva summary' reports them.",
          .arguments = {{"FOLDER", "the folder of a fit", options::ValueKind::folder}},
          .groups = draws_option_groups(),
          .examples = {{"a thousand draws", "magva draws fit/ -n 1000 --out draws.csv"},
                       {"for ArviZ", "magva draws fit/ --format netcdf --out draws.nc"}},
          .run = run_draws};
}

}  // namespace magva::commands
