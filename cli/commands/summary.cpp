#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "commands/commands.hpp"
#include "commands/correction.hpp"
#include "commands/fit_options.hpp"
#include "commands/sources.hpp"
#include "exit_codes.hpp"
#include "magva/fit_folder.hpp"
#include "magva/stored_check.hpp"
#include "options/option_spec.hpp"
#include "options/values.hpp"
#include "results/parameter_summary.hpp"
#include "results/text.hpp"
#include "results/unfinished_fit.hpp"
#include "terminal/terminal.hpp"

namespace magva::commands {

namespace {

using results::FitRecord;
using results::ParameterSummary;
using results::printable;

std::string number(double value) { return std::isfinite(value) ? fmt::format("{:.4g}", value) : "-"; }
std::string number(const std::optional<double>& value) { return value ? number(*value) : "-"; }

/// Where the sds are from.
std::string describe_sds(const FitRecord& r) {
  const std::string sd = r.details.value("sd", "gaussian");
  const std::size_t asked_for = r.details.contains("sd_for") ? r.details["sd_for"].size() : 0;
  std::string out = sd == "linear response"    ? "by linear response"
                    : sd == "short chains"     ? "and means by short chains of Hamiltonian Monte Carlo"
                    : sd == "importance draws" ? "those of draws by importance"
                                               : "those of the approximation";
  if (asked_for > 0) out += fmt::format(" for the {} asked for", asked_for);
  if (r.details.contains("sd_se"))
    out += fmt::format(" (standard error of log sd: {:.2g})", r.details["sd_se"].get<double>());
  if (r.details.contains("sd_estimates")) {
    const auto& estimates = r.details["sd_estimates"];
    out += fmt::format(
        "{} estimates of {} (standard error of log sd: up to {:.2g}), not in draws and predictions",
        asked_for > 0 ? ";" : ",", estimates["parameters"].get<std::int64_t>(),
        estimates["sd_se"].get<double>());
  }
  return out;
}

void print_head(const FitRecord& r) {
  fmt::print("{}\n", terminal::bold(stdout, printable(r.model)));
  fmt::print("data      {}", r.data.file.empty() ? "none" : printable(r.data.file));
  if (r.data.rows > 0) fmt::print(" ({} rows, {} columns)", r.data.rows, r.data.columns);
  fmt::print("\n");
  if (r.running()) {
    fmt::print("stopped   still running, or killed: go on with magva fit --resume\n");
    return;
  }
  fmt::print("stopped   {}: {}\n", printable(r.stopped), printable(r.stop_detail));
  fmt::print("ELBO      {} (standard error {})\n", r.elbo ? results::elbo_text(*r.elbo, 3) : "-",
             number(r.elbo_se));
  if (r.khat) fmt::print("k-hat     {:.2f}\n", *r.khat);
  const std::string shape = r.details.value("shape", "gaussian");
  if (shape != "gaussian") fmt::print("shape     {}\n", printable(shape));
  fmt::print("sds       {}\n", describe_sds(r));
  fmt::print("verdict   {}\n", !r.trusted.value_or(false) ? "not to be trusted, see the warnings"
                               : r.warnings.empty()       ? "trusted"
                                                          : "usable, see the warnings");
  fmt::print("effort    {} iterations, {} gradient evaluations, {:.1f} s\n", r.iterations,
             r.gradient_evaluations, r.seconds);
}

void print_factors(const FitRecord& r) {
  fmt::print("\n{} approximation, rank {}", printable(r.family), r.rank);
  if (!r.factor_shares.empty()) {
    fmt::print("; share of the variance of each factor:");
    for (const double share : r.factor_shares) fmt::print(" {:.1f} %", 100 * share);
  }
  fmt::print("\n");
}

/// How clearly a parameter differs from zero, in its own sds.
double distance(const ParameterSummary& p) { return p.sd > 0 ? std::abs(p.mean) / p.sd : 0; }

std::size_t name_width(const std::vector<ParameterSummary>& parameters) {
  std::size_t width = 9;
  for (const auto& p : parameters) width = std::max(width, printable(p.name).size());
  return std::min<std::size_t>(width, 40);
}

struct ShownPrior {
  std::string text;
  double location = 0;
  std::optional<double> scale;
};

/// By the parameter's name.
std::map<std::string, ShownPrior> priors_of(const FitRecord& r) {
  std::map<std::string, ShownPrior> priors;
  if (!r.details.contains("priors")) return priors;
  for (const auto& prior : r.details["priors"]) {
    ShownPrior& shown = priors[prior.at("parameter")];
    shown.text = prior.at("prior");
    shown.location = prior.at("location");
    if (!prior.at("scale").is_null()) shown.scale = prior["scale"].get<double>();
  }
  return priors;
}

/// Whether the data have hardly moved the prior: the sd is nearly the prior's, and the mean within half of
/// it.
bool nearly_its_prior(const ParameterSummary& p, const ShownPrior& prior) {
  return prior.scale && p.sd > .9 * *prior.scale && std::abs(p.mean - prior.location) < .5 * *prior.scale;
}

struct TableStyle {
  std::size_t shown;
  double level;
  bool in_order;  ///< as the model has them, and not the clearest first
};

std::string percent(double probability) { return fmt::format("{:.4g} %", 100 * probability); }

void print_parameters(std::vector<ParameterSummary> parameters,
                      const std::map<std::string, ShownPrior>& priors, const TableStyle& style) {
  const std::size_t all = parameters.size();
  if (!style.in_order)
    std::stable_sort(parameters.begin(), parameters.end(),
                     [](const auto& a, const auto& b) { return distance(a) > distance(b); });
  parameters.resize(std::min(style.shown, all));
  const std::size_t width = name_width(parameters);
  fmt::print(
      "\n{}\n",
      terminal::bold(stdout, fmt::format("{:<{}} {:>11} {:>11} {:>11} {:>11} {:>11}{}", "parameter", width,
                                         "mean", "sd", percent(.5 * (1 - style.level)), "50 %",
                                         percent(.5 * (1 + style.level)), priors.empty() ? "" : "  prior")));
  bool marked = false;
  for (const auto& p : parameters) {
    const auto prior = priors.find(p.name);
    const bool mark = prior != priors.end() && nearly_its_prior(p, prior->second);
    marked = marked || mark;
    fmt::print("{:<{}} {:>11} {:>11} {:>11} {:>11} {:>11}{}\n", printable(p.name), width, number(p.mean),
               number(p.sd), number(p.q05), number(p.q50), number(p.q95),
               prior == priors.end() ? "" : (mark ? " *" : "  ") + printable(prior->second.text));
  }
  if (marked) fmt::print("* the posterior is nearly the prior: the data say little about this parameter\n");
  if (parameters.size() < all)
    fmt::print("... and {} more{}; --top {} shows all\n", all - parameters.size(),
               style.in_order ? "" : ": those with the largest |mean|/sd come first", all);
}

void print_remarks(const FitRecord& r) {
  if (!r.notes.empty() || !r.warnings.empty()) fmt::print("\n");
  for (const auto& note : r.notes) fmt::print("note: {}\n", printable(note));
  for (const auto& warning : r.warnings)
    fmt::print("{} {}\n", terminal::warning_colour(stdout, "warning:"), printable(warning));
}

/// Of a fit that has ended, or else of one that has not.
FitRecord record_of(const std::string& path) {
  const results::FitFolder folder(path);
  const auto unfinished = results::UnfinishedFit::find(path);
  if (!folder.holds_a_fit() && unfinished) return results::load_record(unfinished->record());
  return results::checked_record(results::FitFolder::open(path));
}

/// Draws for corrected summaries: the error of an sd is .011 of it, and that of a mean .016 sds.
constexpr Index kCorrectedDraws = 4000;

/// The parameters by draws that importance weights have corrected.
std::vector<ParameterSummary> corrected_parameters(const options::Values& values) {
  const results::StoredFit fit = results::load_fit(values.arguments.at(0));
  const Matrix theta = corrected_draws(fit, values, kCorrectedDraws, 1);
  const auto reporter = is_stan_fit(fit) ? source_of(fit, values).reporter : make_reporter(fit);
  return results::summarise(*reporter, theta, 1, values.number("level")).parameters;
}

/// The parameters as they are to be shown: stored, corrected, or with the quantiles of another level.
std::vector<ParameterSummary> parameters_of(const FitRecord& record, const options::Values& values) {
  if (values.flag("correct")) return corrected_parameters(values);
  if (!values.given("level")) return record.parameters;
  const results::StoredFit fit = results::load_fit(values.arguments.at(0));
  const double level = values.number("level");
  auto out = results::summarise(*make_reporter(fit), fit.posterior.best(), 1, level).parameters;
  for (std::size_t k = 0; k < out.size(); ++k)
    if (const ParameterSummary& stored = record.parameters.at(k); std::isfinite(stored.sd_se))
      results::take_estimate(out[k], stored.sd, stored.sd_se, level);
  return out;
}

int run_summary(const options::Values& values) {
  const FitRecord record = record_of(values.arguments.at(0));
  print_head(record);
  if (!record.running()) {
    print_factors(record);
    print_parameters(parameters_of(record, values), priors_of(record),
                     {static_cast<std::size_t>(values.integer("top")), values.number("level"),
                      record.options.contains("formula")});
    if (values.flag("correct"))
      fmt::print("means, sds and quantiles: of {} draws, corrected by importance weights\n", kCorrectedDraws);
  }
  print_remarks(record);
  if (const auto stored =
          results::load_check(std::filesystem::path(values.arguments.at(0)) / results::kCheckFile))
    fmt::print("check: {}\n", stored->check.describe());
  return kOk;
}

}  // namespace

options::Command summary() {
  return {.name = "summary",
          .summary = "show a fit as a table for people",
          .description =
              "Shows how the fit in FOLDER ended, how far to trust it, its factors, and its parameters with "
              "their "
              "priors: in the order of its formula, or those that differ most clearly from zero first.",
          .arguments = {{"FOLDER", "the folder of a fit", options::ValueKind::folder}},
          .groups = {{"Output",
                      {{.name = "top",
                        .value = "N",
                        .standard = "20",
                        .help = "how many parameters to show",
                        .kind = options::ValueKind::integer,
                        .check = options::integer_between(0, 1'000'000'000)},
                       level_option(),
                       correct_option("means, sds and quantiles")}},
                     {"Model and data, which --correct reads again", source_options()}},
          .examples = {{"the thirty clearest coefficients", "magva summary fit/ --top 30"}},
          .run = run_summary};
}

}  // namespace magva::commands
