#include <fmt/format.h>
#include <fmt/ostream.h>

#include <limits>

#include "commands/commands.hpp"
#include "commands/correction.hpp"
#include "commands/outputs.hpp"
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

std::shared_ptr<const source::Reporter> reporter_of(const StoredFit& fit, const Values& values) {
  return is_stan_fit(fit) ? source_of(fit, values).reporter : make_reporter(fit);
}

/// --resample is the older name.
bool wants_correction(const Values& values) { return values.flag("correct") || values.flag("resample"); }

Matrix draw_theta(const StoredFit& fit, const std::optional<source::ModelSource>& source,
                  const Values& values, std::uint64_t seed) {
  const Index count = values.integer("number");
  if (!wants_correction(values)) return fit.posterior.best().draws(count, seed);
  return importance_resample(*source->model, fit.posterior.best(), count, seed);
}

void write(const Draws& draws, const StoredFit& fit, const Values& values, std::uint64_t seed) {
  const std::string format = values.text("format");
  if (format == "csv")
    return io::write_text(values.given("out") ? values.text("out") : "-",
                          [&](std::ostream& out) { results::write_csv(out, draws); });
  const std::string shape = fit.posterior.best().shape();
  const results::Origin origin{fit.record.model, seed,
                               fit.record.family + (shape == "gaussian" ? "" : ", " + shape)};
  if (format == "cmdstan-csv") {
    results::write_cmdstan_csv(values.text("out"), draws, origin);
    return;
  }
  results::write_netcdf(values.text("out"), draws, origin);
}

void check_output(const Values& values, const results::FitRecord& fit) {
  std::vector<std::string> names;
  for (const auto& parameter : fit.parameters) names.push_back(parameter.name);
  const std::string format = values.text("format");
  output_rule(values, fit)
      .check("--out", values.text("out"),
             format == "csv"           ? results::OutputKind::kDrawsCsv
             : format == "cmdstan-csv" ? results::OutputKind::kCmdstanCsv
                                       : results::OutputKind::kNetcdf,
             names);
}

int run_draws(const Values& values) {
  const bool plain = values.text("format") == "csv";
  if (!plain && !values.given("out"))
    throw UsageError(fmt::format("--format {} writes a file: name it with --out", values.text("format")));
  const StoredFit fit = results::load_fit(values.arguments.at(0));
  if (values.given("out")) check_output(values, fit.record);
  const auto seed = static_cast<std::uint64_t>(values.integer("seed"));
  const bool densities = values.flag("log-density") || !plain;
  std::optional<source::ModelSource> source;
  if (densities || wants_correction(values)) source = source_of(fit, values);
  const Matrix theta = draw_theta(fit, source, values, seed);
  const Draws draws = densities ? results::take_draws(*source, fit.posterior.best(), theta, seed)
                                : results::take_draws(*reporter_of(fit, values), theta, seed);
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
        {.name = "correct",
         .value = "",
         .standard = "",
         .help = "draws nearer to the posterior: out of ten times as many, chosen by their importance "
                 "weights, none "
                 "twice; refused if k-hat is above .7; reads the data again",
         .kind = ValueKind::flag},
        {.name = "resample",
         .value = "",
         .standard = "",
         .help = "the older name of --correct",
         .kind = ValueKind::flag}}},
      {"Model and data, which --log-density and --correct read again", source_options()},
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
         .kind = ValueKind::file},
        force_option()}}};
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
