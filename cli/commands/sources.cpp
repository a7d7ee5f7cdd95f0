#include "commands/sources.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands/commands.hpp"
#include "magva/error.hpp"
#include "table/design_file.hpp"
#include "terminal/terminal.hpp"

namespace magva::commands {

namespace {

using options::Values;
using source::RegressionKind;

/// UsageError if one of these options was given: they have no meaning `where`.
void check_not_given(const Values& values, const std::vector<std::string>& options,
                     const std::string& where) {
  std::vector<std::string> found;
  for (const auto& option : options)
    if (values.command().find(option) != nullptr && values.given(option)) found.push_back("--" + option);
  if (!found.empty())
    throw UsageError(fmt::format("{} {} no meaning {}", fmt::join(found, ", "),
                                 found.size() == 1 ? "has" : "have", where));
}

/// The options by which a table is read and encoded, and more.
std::vector<std::string> encoding_options_and(std::vector<std::string> more) {
  for (const char* option : {"weights", "column", "exclude", "positive", "standardise", "discretise",
                             "missing", "format", "separator", "text"})
    more.emplace_back(option);
  return more;
}

std::optional<std::string> text_if_given(const Values& values, const std::string& option) {
  return values.given(option) ? std::optional(values.text(option)) : std::nullopt;
}

std::optional<RegressionKind> regression_kind(const Values& values) {
  if (values.text("model") == "auto") return std::nullopt;
  return source::parse_regression_kind(values.text("model"));
}

table::DesignOptions design_options(const Values& values) {
  table::DesignOptions options;
  options.response = values.text("response");
  options.positive_class = values.text("positive");
  options.weights = values.text("weights");
  options.columns = values.list("column");
  options.excluded = values.list("exclude");
  options.standardise = values.flag("standardise");
  options.discretise =
      values.text("discretise") == "mdlp" ? table::Discretise::mdlp : table::Discretise::none;
  options.missing = missing_policy(values);
  return options;
}

void check_regression_options(const Values& values) {
  if (values.text("model") == "pspline") {
    check_not_given(values,
                    {"prior", "prior-variance", "horseshoe", "standardise", "discretise", "column", "exclude",
                     "float32", "save-design"},
                    "with --model pspline");
    if (!values.given("covariate"))
      throw UsageError("--model pspline needs the column of its covariate: --covariate");
    return;
  }
  check_not_given(values, {"covariate", "basis"}, "without --model pspline");
  if (values.text("prior") != "horseshoe")
    check_not_given(values, {"horseshoe"}, "without --prior horseshoe");
}

source::RegressionOptions regression_options(const Values& values) {
  check_regression_options(values);
  source::RegressionOptions options;
  options.model = regression_kind(values);
  options.prior = source::parse_prior_kind(values.text("prior"));
  if (values.given("prior-variance")) options.prior_variance = values.number("prior-variance");
  options.form = source::parse_horseshoe_form(values.text("horseshoe"));
  options.covariate = values.text("covariate");
  options.basis_functions = values.integer("basis");
  options.single_precision = values.flag("float32");
  if (values.given("batch")) options.batch = values.integer("batch");
  options.seed = static_cast<std::uint64_t>(values.integer("seed"));
  options.start_file = text_if_given(values, "init");
  options.save_design = text_if_given(values, "save-design");
  return options;
}

source::ModelSource stan_source(const Values& values) {
  check_not_given(values,
                  encoding_options_and({"response", "model", "prior", "prior-variance", "horseshoe",
                                        "covariate", "basis", "batch", "float32", "save-design"}),
                  "for a Stan model");
  source::StanOptions options;
  options.file = values.arguments.at(0);
  options.data = values.text("data");
  options.generated_quantities = values.flag("generated-quantities");
  options.seed = static_cast<std::uint64_t>(values.integer("seed"));
  options.start_file = text_if_given(values, "init");
  if (!values.flag("quiet")) options.progress = [](const std::string& line) { terminal::say_line(line); };
  return source::make_stan_source(options);
}

source::ModelSource design_file_source(const Values& values) {
  const std::string& path = values.arguments.at(0);
  check_not_given(values, encoding_options_and({"float32", "save-design", "data", "generated-quantities"}),
                  "for a design file, in which all is encoded");
  source::ModelSource source = source::make_design_file_source(path, regression_options(values));
  const std::string& stored = source.spec->design.response.column;
  if (values.given("response") && values.text("response") != stored)
    throw UsageError(
        fmt::format("the response of '{}' is '{}': for another, convert the table again", path, stored));
  return source;
}

source::ModelSource table_source(const Values& values) {
  if (values.given("data") || values.given("generated-quantities"))
    throw UsageError("--data and --generated-quantities belong to Stan models; a table is given as FILE");
  const std::string& file = values.arguments.at(0);
  source::ModelSource source =
      make_source(values, [&] { return table::read_table(file, read_options(values)); });
  source.data.file = file;  // messages call "-" standard input, records do not
  return source;
}

}  // namespace

source::ModelSource make_source(const Values& values, const std::function<table::Table()>& read) {
  const source::RegressionOptions options = regression_options(values);
  return source::make_table_source(read(), design_options(values), options);
}

table::ReadOptions read_options(const Values& values) {
  table::ReadOptions options;
  const std::string format = values.text("format");
  if (format == "csv") options.format = table::Format::csv;
  if (format == "libsvm") options.format = table::Format::libsvm;
  if (const std::string separator = values.text("separator"); !separator.empty())
    options.separator = separator == "tab" ? '\t' : separator.front();
  options.text_columns = values.list("text");
  options.digest = true;
  return options;
}

table::MissingPolicy missing_policy(const Values& values) {
  return values.text("missing") == "drop" ? table::MissingPolicy::drop : table::MissingPolicy::refuse;
}

source::ModelSource make_source(const Values& values) {
  if (values.arguments.empty())
    throw UsageError("the data of the fit were in memory, not in a file: name a file with the same data");
  const std::string& file = values.arguments.at(0);
  if (source::is_stan_file(file)) return stan_source(values);
  return design_file::is_design_file(file) ? design_file_source(values) : table_source(values);
}

source::ConvertOptions convert_options(const Values& values) {
  source::ConvertOptions options;
  options.file = values.arguments.at(0);
  options.reading = read_options(values);
  options.design = design_options(values);
  options.model = regression_kind(values);
  options.single_precision = values.flag("float32");
  options.out = values.text("out");
  if (!values.given("like")) return options;
  check_not_given(
      values,
      {"response", "model", "weights", "column", "exclude", "positive", "standardise", "discretise", "text"},
      "with --like: the fit says how rows are encoded");
  const results::StoredFit fit = results::load_fit(values.text("like"));
  if (!fit.spec || fit.spec->spline || fit.spec->design.sparse())
    throw UsageError("--like needs a fit to a dense design of columns");
  options.like = fit.spec->design;
  return options;
}

Values recorded_values(const results::FitRecord& record) {
  Values values(*program().find("fit"));
  values.arguments = record.arguments;
  values.fill_in(record.options, "fit.json");
  return values;
}

std::shared_ptr<const source::Reporter> make_reporter(const results::StoredFit& fit) {
  if (fit.spec) return source::make_reporter(*fit.spec);
  if (fit.record.arguments.empty()) return source::make_coordinate_reporter(fit.names);
  return make_source(recorded_values(fit.record)).reporter;
}

}  // namespace magva::commands
