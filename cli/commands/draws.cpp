#include <fmt/format.h>
#include <fmt/ostream.h>

#include <iostream>
#include <limits>

#include "commands/commands.hpp"
#include "commands/recorded_values.hpp"
#include "exit_codes.hpp"
#include "magva/diagnostics.hpp"
#include "magva/error.hpp"
#include "options/checks.hpp"
#include "results/cmdstan_csv.hpp"
#include "results/csv_text.hpp"
#include "results/draws.hpp"
#include "results/netcdf.hpp"
#include "results/netcdf_names.hpp"
#include "results/store.hpp"
#include "results/text_file.hpp"

namespace magva::commands {

namespace {

using options::Values;
using results::Draws;
using results::StoredFit;

Draws take_draws(const source::Reporter& reporter, const Matrix& theta, std::uint64_t seed) {
  Draws draws;
  for (const auto& quantity : reporter.quantities()) draws.names.push_back(quantity.name);
  draws.values = reporter.report(theta, seed);
  return draws;
}

/// The model with its data, which must be those of the fit.
std::unique_ptr<source::ModelSource> source_of(const StoredFit& fit, const Values& values) {
  Values fit_values = recorded_values(fit.record);
  if (values.given("data-file")) fit_values.arguments = {values.text("data-file")};
  if (fit_values.arguments == std::vector<std::string>{"-"})
    throw UsageError(
        "the fit read its data from standard input: log densities need them again, name them with "
        "--data-file");
  auto source = source::make_source(fit_values);
  if (source->data().sha256 != fit.record.data.sha256)
    throw DataError(
        fmt::format("'{}' is not the data of the fit: its content has changed", source->data().file));
  return source;
}

Matrix draw_theta(const StoredFit& fit, const source::ModelSource* source, const Values& values,
                  std::uint64_t seed) {
  const Index count = values.integer("number");
  if (!values.flag("resample")) return fit.posterior.draws(count, seed);
  return importance_resample(source->full_model(), fit.posterior, count, seed);
}

Draws take_draws_with_densities(const StoredFit& fit, const source::ModelSource& source, const Matrix& theta,
                                std::uint64_t seed) {
  Draws draws = take_draws(source, theta, seed);
  draws.log_p = log_densities(source.full_model(), theta);
  draws.lp = draws.log_p;
  draws.log_g = fit.posterior.log_density(theta);
  return draws;
}

void write_csv(std::ostream& out, const Draws& draws) {
  const bool densities = draws.log_p.size() > 0;
  std::string head = densities ? "log_q,log_p" : "";
  for (const auto& name : draws.names) head += (head.empty() ? "" : ",") + results::csv_text(name);
  out << head << '\n';
  for (Index s = 0; s < draws.size(); ++s) {
    std::string line = densities ? fmt::format("{},{}", draws.log_g(s), draws.log_p(s)) : "";
    for (Index i = 0; i < draws.values.rows(); ++i)
      fmt::format_to(std::back_inserter(line), "{}{}", line.empty() ? "" : ",", draws.values(i, s));
    out << line << '\n';
  }
}

void write(Draws draws, const StoredFit& fit, const Values& values, std::uint64_t seed) {
  const std::string format = values.text("format");
  if (format == "csv") {
    if (values.given("out"))
      results::write_text(values.text("out"), [&](std::ostream& out) { write_csv(out, draws); });
    else
      write_csv(std::cout, draws);
    return;
  }
  const results::Origin origin{fit.record.model, seed, fit.record.family};
  if (format == "cmdstan-csv") {
    results::write_cmdstan_csv(values.text("out"), draws, origin);
    return;
  }
  draws.names = results::netcdf_names(std::move(draws.names));
  results::write_netcdf(values.text("out"), draws, origin);
}

int run_draws(const Values& values) {
  const bool plain = values.text("format") == "csv";
  if (!plain && !values.given("out"))
    throw UsageError(fmt::format("--format {} writes a file: name it with --out", values.text("format")));
  const StoredFit fit = results::load_fit(values.arguments.at(0));
  const auto seed = static_cast<std::uint64_t>(values.integer("seed"));
  const bool densities = values.flag("log-density") || !plain;
  const auto source = densities || values.flag("resample") ? source_of(fit, values) : nullptr;
  const Matrix theta = draw_theta(fit, source.get(), values, seed);
  Draws draws = densities
                    ? take_draws_with_densities(fit, *source, theta, seed)
                    : take_draws(*source::make_reporter(fit.model, recorded_values(fit.record)), theta, seed);
  write(std::move(draws), fit, values, seed);
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
                 "twice; refused where k-hat is above .7; reads the data again",
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
