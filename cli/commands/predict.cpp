#include <fmt/format.h>
#include <fmt/ostream.h>

#include <cmath>
#include <limits>

#include "commands/commands.hpp"
#include "commands/correction.hpp"
#include "commands/fit_options.hpp"
#include "commands/outputs.hpp"
#include "commands/sources.hpp"
#include "core/atomic_file.hpp"
#include "exit_codes.hpp"
#include "magva/error.hpp"
#include "magva/fit_folder.hpp"
#include "magva/prediction.hpp"
#include "options/option_spec.hpp"
#include "results/text.hpp"
#include "terminal/terminal.hpp"

namespace magva::commands {

namespace {

using prediction::NewRows;
using prediction::PredictionScale;
using prediction::PredictOptions;
using prediction::RowPredictions;
using prediction::Scores;
using source::ModelSpec;

ModelSpec spec_of(const results::StoredFit& fit) {
  if (!fit.spec)
    throw UsageError(fmt::format("the fit in '{}' is of a model that cannot predict rows of a table",
                                 fit.folder.path().string()));
  return *fit.spec;
}

/// "q05", or "q2.5".
std::string quantile_name(double probability) {
  const double percent = 100 * probability;
  const bool whole = std::abs(percent - std::round(percent)) < 1e-9;
  return whole ? fmt::format("q{:02.0f}", percent) : fmt::format("q{:g}", percent);
}

/// What is said of a row before its interval.
struct RowText {
  const ModelSpec& spec;
  const RowPredictions& predictions;
  bool by_class;  ///< the likeliest class and its probability, instead of the mean

  std::string of(Index i) const {
    const auto& names = spec.classes();
    const RowPredictions& p = predictions;
    if (!by_class) return fmt::format("{}", p.mean(i));
    if (p.probabilities.cols() == 0)
      return fmt::format("{},{}", results::csv_text(names[p.mean(i) >= .5 ? 1 : 0]), p.mean(i));
    const auto best = static_cast<Index>(p.mean(i));
    return fmt::format("{},{}", results::csv_text(names[static_cast<std::size_t>(best)]),
                       p.probabilities(i, best));
  }
  std::string observed(double response) const {
    const auto& names = spec.classes();
    const bool classes = spec.two_classes() || predictions.probabilities.cols() > 0;
    return classes ? results::csv_text(names[static_cast<std::size_t>(response)])
                   : fmt::format("{}", response);
  }
};

void write_rows(std::ostream& out, const ModelSpec& spec, const NewRows& rows, const RowPredictions& p,
                const PredictOptions& options) {
  const bool several = p.probabilities.cols() > 0;
  const RowText text{spec, p, several || (spec.two_classes() && options.scale == PredictionScale::response)};
  fmt::print(out, "{},{},{}", text.by_class ? "row,class,probability" : "row,mean",
             quantile_name(.5 * (1 - options.level)), quantile_name(.5 * (1 + options.level)));
  for (Index k = 0; k < p.probabilities.cols(); ++k)
    out << ',' << results::csv_text(fmt::format("P({})", spec.classes()[static_cast<std::size_t>(k)]));
  out << (rows.response.size() > 0 ? ",observed,log_score\n" : "\n");
  for (Index i = 0; i < rows.design.rows(); ++i) {
    const Index number = rows.row_numbers.empty() ? i : rows.row_numbers[static_cast<std::size_t>(i)];
    fmt::print(out, "{},{},{},{}", number + 1, text.of(i), p.lower(i), p.upper(i));
    for (Index k = 0; k < p.probabilities.cols(); ++k) fmt::print(out, ",{}", p.probabilities(i, k));
    if (rows.response.size() > 0) fmt::print(out, ",{},{}", text.observed(rows.response(i)), p.log_score(i));
    out << '\n';
  }
}

std::string describe(const Scores& s, const ModelSpec& spec) {
  std::string out = fmt::format("{} rows with a response: mean log score {:.4f}", s.rows, s.log_score);
  if (s.error_rate) out += fmt::format(", error rate {:.4f}", *s.error_rate);
  if (s.rmse)
    out +=
        fmt::format(", root mean squared error {:.4g}; 50 % intervals hold {:.1f} %, 90 % intervals {:.1f} %",
                    *s.rmse, 100 * s.coverage50.value_or(0), 100 * s.coverage90.value_or(0));
  out += '\n';
  if (s.calibration.empty()) return out;
  out += fmt::format("calibration of the probability of '{}':\n  {:>11} {:>7} {:>10} {:>10}\n",
                     results::printable(spec.classes()[1]), "predicted", "rows", "mean", "observed");
  for (const auto& bin : s.calibration)
    out += fmt::format("  {:.1f} to {:.1f}  {:>7} {:>10.3f} {:>10.3f}\n", bin.lower, bin.upper, bin.rows,
                       bin.predicted, bin.observed);
  return out;
}

template <class T>
results::Json or_null(const std::optional<T>& value) {
  return value ? results::Json(*value) : results::Json(nullptr);
}

void save_scores(const Scores& s, const std::string& file) {
  results::Json json = {{"rows", s.rows},
                        {"log_score", s.log_score},
                        {"error_rate", or_null(s.error_rate)},
                        {"rmse", or_null(s.rmse)},
                        {"coverage50", or_null(s.coverage50)},
                        {"coverage90", or_null(s.coverage90)},
                        {"calibration", results::Json::array()}};
  for (const auto& bin : s.calibration)
    json["calibration"].push_back({{"lower", bin.lower},
                                   {"upper", bin.upper},
                                   {"rows", bin.rows},
                                   {"predicted", bin.predicted},
                                   {"observed", bin.observed}});
  io::write_text(file, [&](std::ostream& out) { out << json.dump(2) << '\n'; });
}

void check_outputs(const options::Values& values, const results::FitRecord& fit) {
  results::OutputRule rule = output_rule(values, fit);
  if (values.given("out")) rule.check("--out", values.text("out"), results::OutputKind::kPredictions);
  if (values.given("scores")) rule.check("--scores", values.text("scores"), results::OutputKind::kScores);
}

int run_predict(const options::Values& values) {
  const results::StoredFit fit = results::load_fit(values.arguments.at(0));
  const ModelSpec spec = spec_of(fit);
  check_outputs(values, fit.record);
  const NewRows rows =
      prediction::read_new_rows(values.arguments.at(1), spec, read_options(values), missing_policy(values));
  PredictOptions options;
  options.draws = values.integer("number");
  options.seed = static_cast<std::uint64_t>(values.integer("seed"));
  options.level = values.number("level");
  if (values.text("scale") == "link") options.scale = PredictionScale::link;
  if (values.flag("correct")) options.theta = corrected_draws(fit, values, options.draws, options.seed);
  const auto predictions = prediction::predict_rows(spec, rows, fit.posterior, options);
  const auto write = [&](std::ostream& out) { write_rows(out, spec, rows, predictions, options); };
  const std::string out = values.given("out") ? values.text("out") : "-";
  const bool to_file = !io::is_stream(out);
  io::write_text(out, write);
  if (options.scale == PredictionScale::link) return kOk;  // nothing was observed on that scale
  if (rows.response.size() == 0) {
    if (values.given("scores"))
      throw DataError(fmt::format("'{}' has no response column '{}': there is nothing to score",
                                  values.arguments.at(1), spec.response_name()));
    return kOk;
  }
  const Scores scores = prediction::score(predictions, rows.response, spec.two_classes());
  if (to_file)
    fmt::print("{}", describe(scores, spec));
  else
    terminal::say(describe(scores, spec));
  if (values.given("scores")) save_scores(scores, values.text("scores"));
  return kOk;
}

std::vector<options::OptionGroup> predict_option_groups() {
  std::vector<options::OptionSpec> data = {missing_option()};
  for (auto& option : reading_options()) data.push_back(std::move(option));
  return {{"Data", std::move(data)},
          {"Prediction",
           {{.name = "number",
             .value = "N",
             .standard = "1000",
             .help = "draws from the posterior",
             .kind = options::ValueKind::integer,
             .check = options::integer_between(2, 1'000'000),
             .letter = 'n'},
            {.name = "seed",
             .value = "N",
             .standard = "1",
             .help = "the seed of the draws",
             .kind = options::ValueKind::integer,
             .check = options::integer_between(0, std::numeric_limits<std::int64_t>::max())},
            level_option(),
            {.name = "scale",
             .value = "WORD",
             .standard = "response",
             .help = "predict the response, or the linear predictor (link)",
             .check = options::one_of({"response", "link"}),
             .choices = {"response", "link"}},
            correct_option("draws")}},
          {"Model and data, which --correct reads again", source_options()},
          {"Output",
           {{.name = "out",
             .value = "FILE",
             .standard = "",
             .help = "write the rows here instead of to standard output",
             .kind = options::ValueKind::file},
            {.name = "scores",
             .value = "FILE",
             .standard = "",
             .help = "write the scores here as JSON",
             .kind = options::ValueKind::file},
            force_option()}}};
}

}  // namespace

options::Command predict() {
  return {
      .name = "predict",
      .summary = "predict new rows from a fit",
      .description =
          "Writes a CSV line for each row of the table: for two classes the likelier class and the "
          "probability of the "
          "second with its interval; otherwise the posterior predictive mean and its interval. A group that "
          "the fit has not seen is drawn from the population.\n"
          "If the table has the response column too, error rate, log score and calibration are shown: on "
          "standard "
          "error, or on standard output if --out names a file.",
      .arguments = {{"FOLDER", "the folder of a fit", options::ValueKind::folder},
                    {"FILE",
                     "a table with the columns of the fit, '-' for standard input, or a design file that is "
                     "encoded alike"}},
      .groups = predict_option_groups(),
      .examples = {{"predict and score",
                    "magva predict fit/ new.csv --out predictions.csv --scores scores.json"}},
      .run = run_predict};
}

}  // namespace magva::commands
