#include "commands/sources.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "commands/commands.hpp"
#include "magva/error.hpp"
#include "magva/formula_model.hpp"
#include "source/shared_sources.hpp"
#include "table/design_file.hpp"
#include "table/part_files.hpp"
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

/// The priors that are statements, 'x1 ~ normal(0, 1)'.
std::vector<std::string> prior_statements(const Values& values) {
  std::vector<std::string> statements;
  for (const std::string& prior : values.list("prior"))
    if (prior.find('~') != std::string::npos) statements.push_back(prior);
  return statements;
}

/// The prior of all coefficients that is a word.
std::string prior_word(const Values& values) {
  std::string word = "normal";
  for (const std::string& prior : values.list("prior"))
    if (prior.find('~') == std::string::npos) word = prior;
  return word;
}

/// Whether only a formula can say what is asked for; --response and its like are short for one then.
bool needs_formula(const Values& values) {
  return values.given("formula") || values.given("family") || values.given("link") ||
         !prior_statements(values).empty();
}

/// y ~ . or y ~ a + b.
std::string formula_of_columns(const Values& values) {
  if (!values.given("response"))
    throw UsageError("there is no model: give a --formula, or name the --response");
  std::string predictors;
  for (const std::string& column : values.list("column"))
    predictors += (predictors.empty() ? "" : " + ") + formula::quoted_name(column);
  return fmt::format("{} ~ {}", formula::quoted_name(values.text("response")),
                     predictors.empty() ? "." : predictors);
}

std::optional<Distribution> family_of(const Values& values) {
  if (values.given("family")) return parse_distribution(values.text("family"));
  const std::string model = values.text("model");
  if (model == "logistic") return Distribution::bernoulli;
  if (model == "linear") return Distribution::gaussian;
  if (model == "poisson") return Distribution::poisson;
  return std::nullopt;
}

source::FormulaOptions formula_options(const Values& values) {
  check_not_given(values, {"covariate", "basis", "discretise", "save-design", "horseshoe"}, "with a formula");
  if (values.given("formula")) check_not_given(values, {"response", "column", "model"}, "with --formula");
  if (values.given("family")) check_not_given(values, {"model"}, "with --family");
  source::FormulaOptions options;
  options.formula = values.given("formula") ? values.text("formula") : formula_of_columns(values);
  options.family = family_of(values);
  if (values.given("link")) options.link = parse_link(values.text("link"));
  options.priors = prior_statements(values);
  if (prior_word(values) == "horseshoe") options.priors.emplace_back("coefficients ~ horseshoe()");
  if (values.given("prior-variance")) options.prior_variance = values.number("prior-variance");
  options.positive_class = values.text("positive");
  options.weights = values.text("weights");
  options.excluded = values.list("exclude");
  options.missing = missing_policy(values);
  options.standardise = values.flag("standardise");
  options.single_precision = values.flag("float32");
  if (values.given("batch")) options.batch = values.integer("batch");
  options.seed = static_cast<std::uint64_t>(values.integer("seed"));
  options.start_file = text_if_given(values, "init");
  // These ask for an approximation of all parameters together.
  const std::vector<std::string> of_approximation = {"rule", "approximation", "rank", "shape", "sd-for"};
  options.joint_smooths = values.text("device") == "cuda" ||
                          std::any_of(of_approximation.begin(), of_approximation.end(),
                                      [&](const std::string& name) { return values.given(name); });
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
  if (prior_word(values) != "horseshoe") check_not_given(values, {"horseshoe"}, "without --prior horseshoe");
}

source::RegressionOptions regression_options(const Values& values) {
  check_regression_options(values);
  source::RegressionOptions options;
  options.model = regression_kind(values);
  options.prior = source::parse_prior_kind(prior_word(values));
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
  check_not_given(
      values,
      encoding_options_and({"formula", "family", "link", "response", "model", "prior", "prior-variance",
                            "horseshoe", "covariate", "basis", "batch", "float32", "save-design"}),
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

source::ModelSource design_file_source(const Values& values, const source::RowShare& share) {
  const std::string& path = values.arguments.at(0);
  check_not_given(values,
                  encoding_options_and({"formula", "family", "link", "float32", "save-design", "data",
                                        "generated-quantities"}),
                  "for a design file, in which all is encoded");
  source::RegressionOptions options = regression_options(values);
  options.share = share;
  source::ModelSource source = source::make_design_file_source(path, options);
  const std::string& stored = source.spec->design.response.column;
  if (values.given("response") && values.text("response") != stored)
    throw UsageError(
        fmt::format("the response of '{}' is '{}': for another, convert the table again", path, stored));
  return source;
}

source::ModelSource table_source(const Values& values, const ReadTable& read) {
  if (values.given("data") || values.given("generated-quantities"))
    throw UsageError("--data and --generated-quantities belong to Stan models; a table is given as FILE");
  const std::string& file = values.arguments.at(0);
  source::ModelSource source = make_source(values, [&] { return read(file, read_options(values)); });
  source.data.file = file;  // messages call "-" standard input, records do not
  return source;
}

}  // namespace

source::ModelSource make_source(const Values& values, const std::function<table::TableShare()>& read) {
  if (needs_formula(values)) {
    const source::FormulaOptions options = formula_options(values);
    options.validate();
    formula::parse(options.formula);
    return source::make_shared_formula_source(read(), options);
  }
  const source::RegressionOptions options = regression_options(values);
  return source::make_shared_table_source(read(), design_options(values), options);
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

namespace {

bool is_design_in_parts(const std::string& pattern) {
  return table::is_pattern(pattern) && design_file::is_design_file(table::matching_files(pattern).front());
}

}  // namespace

source::ModelSource make_source(const Values& values) {
  return make_source(values, {}, [](const std::string& path, const table::ReadOptions& options) {
    return table::read_shared(path, options, {});
  });
}

source::ModelSource make_source(const Values& values, const source::RowShare& share, const ReadTable& read) {
  if (values.arguments.empty())
    throw UsageError("the data of the fit were in memory, not in a file: name a file with the same data");
  const std::string& file = values.arguments.at(0);
  if (source::is_stan_file(file)) return stan_source(values);
  const bool encoded = design_file::is_design_file(file) || is_design_in_parts(file);
  return encoded ? design_file_source(values, share) : table_source(values, read);
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
  if (design_file::is_design_file(values.text("like"))) {
    options.like = design_file::open(values.text("like")).header.spec;
    return options;
  }
  const results::StoredFit fit = results::load_fit(values.text("like"));
  if (!fit.spec || fit.spec->formula || fit.spec->spline || fit.spec->design.sparse())
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
