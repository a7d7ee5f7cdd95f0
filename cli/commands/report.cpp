#include <fmt/format.h>

#include <filesystem>

#include "commands/commands.hpp"
#include "commands/outputs.hpp"
#include "commands/sources.hpp"
#include "exit_codes.hpp"
#include "magva/error.hpp"
#include "options/option_spec.hpp"
#include "report/fit_report.hpp"
#include "table/design_file.hpp"
#include "terminal/terminal.hpp"

namespace magva::commands {

namespace {

using options::ValueKind;
using options::Values;
using results::StoredFit;

constexpr Index kDraws = 1000;

/// The file with the rows of the fit, or a sentence that says why they cannot be looked at.
std::string rows_of_fit(const StoredFit& fit, const Values& values, std::string& why_not) {
  if (!fit.spec) {
    why_not = "This model does not predict rows of a table.";
    return {};
  }
  const auto& arguments = fit.record.arguments;
  const std::string file = values.given("data-file") ? values.text("data-file")
                           : arguments.empty()       ? ""
                                                     : arguments[0];
  std::error_code ignored;
  if (file.empty() || !std::filesystem::is_regular_file(file, ignored))
    why_not =
        "The data of the fit are not where they were: name them with --data-file to see how the fit predicts "
        "them.";
  else if (design_file::data_digest(file) != fit.record.data.sha256)
    why_not = fmt::format("{} has changed since the fit: it is not looked at.", file);
  return why_not.empty() ? file : std::string();
}

report::PredictiveCheck check_of(const StoredFit& fit, const Values& values) {
  report::PredictiveCheck check{};
  const std::string file = rows_of_fit(fit, values, check.missing);
  if (file.empty()) return check;
  const source::ModelSpec& spec = *fit.spec;
  const Values fit_values = recorded_values(fit.record);
  check.data = std::make_shared<const prediction::NewRows>(
      prediction::read_new_rows(file, spec, read_options(fit_values), missing_policy(fit_values)));
  check.rows = prediction::predict_rows(spec, *check.data, fit.posterior, kDraws, 1);
  check.response = check.data->response;
  const bool two_classes = spec.two_classes();
  check.scores = prediction::score(check.rows, check.response, two_classes);
  check.source = file;
  if (two_classes) check.positive = spec.classes().at(1);
  return check;
}

/// What lies in a folder that someone else has made must not lead out of it.
void check_no_link(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_symlink(path, error))
    throw UsageError(
        fmt::format("'{}' is a link, which a report does not follow: choose another place with --out, or "
                    "remove it (--force does not help)",
                    path.string()));
}

int run_report(const Values& values) {
  const StoredFit fit = results::load_fit(values.arguments.at(0));
  const std::filesystem::path page =
      values.given("out") ? std::filesystem::path(values.text("out")) : fit.folder.path() / "report.html";
  output_rule(values, fit.record).check("--out", page, results::OutputKind::kReport);
  if (!values.given("out")) check_no_link(page);
  std::filesystem::path figures = page;
  figures.replace_extension();
  figures += "-figures";
  check_no_link(figures);
  const report::FitReportOptions options{.parameters = static_cast<std::size_t>(values.integer("top"))};
  const std::string complaint = report::write_fit_report(fit, check_of(fit, values), options, page, figures);
  if (!complaint.empty()) terminal::say_line(complaint);
  fmt::print("{}\n", page.string());
  return kOk;
}

}  // namespace

options::Command report() {
  return {.name = "report",
          .summary = "make a page with figures about a fit",
          .description =
              "Writes one self-contained HTML page about the fit in FOLDER: how it went and how far to trust "
              "it, the "
              "clearest parameters with their intervals, the factors, and how the fit meets its own data.",
          .arguments = {{"FOLDER", "the folder of a fit", ValueKind::folder}},
          .groups = {{"Output",
                      {{.name = "out",
                        .value = "FILE",
                        .standard = "",
                        .help = "the page; otherwise report.html in the folder",
                        .kind = ValueKind::file},
                       {.name = "top",
                        .value = "N",
                        .standard = "20",
                        .help = "how many parameters to show",
                        .kind = ValueKind::integer,
                        .check = options::integer_between(1, 200)},
                       {.name = "data-file",
                        .value = "FILE",
                        .standard = "",
                        .help = "where the data of the fit are now",
                        .kind = ValueKind::file},
                       force_option()}}},
          .examples = {{"a page about a fit", "magva report fit/"}},
          .run = run_report};
}

}  // namespace magva::commands
