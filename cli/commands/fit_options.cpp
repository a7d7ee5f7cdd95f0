#include "commands/fit_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "commands/outputs.hpp"
#include "magva/error.hpp"
#include "magva/fit.hpp"
#include "magva/model_source.hpp"
#include "magva/response_family.hpp"

namespace magva::commands {

namespace {

using options::OptionSpec;
using options::ValueKind;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// The defaults are those of the libraries.
const FitOptions kFit;
const Algorithm1Options kAlgorithm1;
const source::RegressionOptions kRegression;

std::string standard(double value) { return fmt::format("{}", value); }
std::string standard(std::int64_t value) { return fmt::format("{}", value); }

OptionSpec choice(std::string name, std::string standard, std::string help,
                  std::vector<std::string> choices) {
  return {.name = std::move(name),
          .value = "WORD",
          .standard = std::move(standard),
          .help = std::move(help),
          .check = options::one_of(choices),
          .choices = choices};
}

OptionSpec integer(std::string name, std::string standard, std::string help, std::int64_t least,
                   std::int64_t most) {
  return {.name = std::move(name),
          .value = "N",
          .standard = std::move(standard),
          .help = std::move(help),
          .kind = ValueKind::integer,
          .check = options::integer_between(least, most)};
}

OptionSpec positive(std::string name, std::string value, std::string standard, std::string help) {
  return {.name = std::move(name),
          .value = std::move(value),
          .standard = std::move(standard),
          .help = std::move(help),
          .kind = ValueKind::number,
          .check = options::positive_number()};
}

OptionSpec column(std::string name, std::string help, bool repeatable = false) {
  return {.name = std::move(name),
          .value = "COLUMN",
          .standard = "",
          .help = std::move(help),
          .repeatable = repeatable};
}

OptionSpec flag(std::string name, std::string help) {
  return {
      .name = std::move(name), .value = "", .standard = "", .help = std::move(help), .kind = ValueKind::flag};
}

OptionSpec file(std::string name, std::string help) {
  return {.name = std::move(name),
          .value = "FILE",
          .standard = "",
          .help = std::move(help),
          .kind = ValueKind::file};
}

OptionSpec response_option() {
  return column("response", "the column that is to be explained; of a LIBSVM file its label");
}

const std::vector<std::string> kFamilies = {"gaussian",    "student_t",   "bernoulli",  "binomial",
                                            "poisson",     "negbinomial", "gamma",      "weibull",
                                            "exponential", "ordered",     "categorical"};

/// The family's name, or what an option that once had this name is called now.
std::string check_family(const std::string& text) {
  for (const char* form :
       {"mean-field", "low-rank", "full-rank", "stiefel", "grassmann", "vafc", "fixed-rank"})
    if (text == form)
      return fmt::format("the family of the response; the form of the Gaussian is now --approximation {}",
                         form);
  try {
    parse_distribution(text);
    return {};
  } catch (const UsageError&) {
    return fmt::format("one of {}", fmt::join(kFamilies, ", "));
  }
}

std::string check_link_name(const std::string& text) {
  return options::one_of({"identity", "log", "logit", "probit", "cloglog"})(text);
}

std::string check_prior(const std::string& text) {
  if (text == "normal" || text == "horseshoe" || text.find('~') != std::string::npos) return {};
  return "normal, horseshoe, or a statement such as 'x1 ~ normal(0, 1)'";
}

std::vector<OptionSpec> model_options() {
  return {
      {.name = "formula",
       .value = "FORMULA",
       .standard = "",
       .help = "the model in R's grammar: 'y ~ x1*x2 + log(dose) + C(site, base=A) + s(age) + "
               "offset(log(days)) + "
               "(1 + x1 | school)'; the response may be cbind(successes, failures), successes | trials(n) or "
               "Surv(time, status)"},
      {.name = "family",
       .value = "WORD",
       .standard = "",
       .help = "the family of the response; if it is not given, chosen by the response",
       .check = check_family,
       .choices = kFamilies},
      {.name = "link",
       .value = "WORD",
       .standard = "",
       .help = "the link of the family, if it has several: logit, probit or cloglog",
       .check = check_link_name,
       .choices = {"identity", "log", "logit", "probit", "cloglog"}},
      response_option(),
      choice("model", "auto",
             "short for a family with --response; auto chooses by the response and says which",
             {"auto", "logistic", "linear", "poisson", "pspline"}),
      {.name = "prior",
       .value = "PRIOR",
       .standard = "",
       .help =
           "horseshoe, for all coefficients; or the prior of a parameter or of all levels of a factor: 'x1 ~ "
           "normal(0, 1)', student_t, cauchy, horseshoe, regularised_horseshoe; others keep their defaults",
       .check = check_prior,
       .choices = {"normal", "horseshoe"},
       .repeatable = true},
      positive(
          "prior-variance", "V", "",
          "the prior N(0, V) for every coefficient and the intercept; if it is not given, normal priors on "
          "the scale of the data"),
      choice("horseshoe", source::to_string(kRegression.form), "how the horseshoe's coefficients are written",
             {"noncentred", "centred"}),
      column("covariate", "of --model pspline: the column that the curve is a function of"),
      integer("basis", standard(kRegression.basis_functions), "of --model pspline: the number of B-splines",
              5, 10'000),
  };
}

std::vector<OptionSpec> data_options() {
  std::vector<OptionSpec> all = {
      column("weights", "the column of observation weights"),
      column("column", "use this column as a predictor, instead of all", true),
      column("exclude", "do not use this column as a predictor", true),
      {.name = "positive",
       .value = "CLASS",
       .standard = "",
       .help = "the class of the response that counts as 1"},
      flag("standardise", "bring columns of numbers to mean 0 and standard deviation 1"),
      choice("discretise", "none", "cut columns of numbers into bins by the classes (Fayyad and Irani)",
             {"none", "mdlp"}),
      missing_option(),
  };
  for (auto& option : reading_options()) all.push_back(std::move(option));
  all.push_back(flag("float32", "keep the design in single precision: half the bytes, sums in double"));
  return all;
}

/// Of a fit, whose design stays in memory.
std::vector<OptionSpec> fitted_data_options() {
  std::vector<OptionSpec> all = data_options();
  all.push_back(
      choice("device", "cpu",
             "where the design is kept and summed over: cpu, or cuda, an NVIDIA GPU (docs/scale.md)",
             {"cpu", "cuda"}));
  return all;
}

std::vector<OptionSpec> stan_options() {
  return {
      file("data", "the data of a Stan model, JSON"),
      flag("generated-quantities", "report the program's generated quantities too"),
  };
}

std::vector<OptionSpec> fitting_options() {
  return {
      choice("approximation", "low-rank",
             "the form of the Gaussian's covariance; with --rule also the manifold of its factors (low-rank: "
             "stiefel)",
             {"mean-field", "low-rank", "full-rank", "stiefel", "grassmann", "vafc", "fixed-rank"}),
      {.name = "rank",
       .value = "N|auto",
       .standard = "auto",
       .help = fmt::format("the number of factors of the covariance; auto lets it grow while the ELBO gains "
                           "(with --rule: {}, or the number of parameters if that is less)",
                           kAlgorithm1Rank),
       .check = options::one_of({"auto"}, options::integer_between(0, 1'000'000)),
       .choices = {"auto"}},
      choice(
          "shape", to_string(kFit.shape),
          "the shape of the approximation: a Gaussian, a Gaussian with skewed and longer or shorter-tailed "
          "margins, or a Sylvester flow; where the Gaussian is in doubt, auto tries a mixture of Gaussians "
          "over "
          "the hyper-parameters and skewed margins, and keeps what gains",
          {"auto", "gaussian", "skewed", "flow"}),
      integer("layers", standard(std::int64_t{kFit.layers}), "the layers of a flow", 1, 1000),
      {.name = "sd-for",
       .value = "NAME",
       .standard = "",
       .help = "correct the sds of these parameters, separated by commas, by linear response if those of all "
               "take too long",
       .repeatable = true},
      choice("rule", "",
             "run Algorithm 1 of the paper with this update rule instead of the default optimiser",
             {"basic", "momentum", "rmsprop", "adadelta", "rmsprop-guarded", "adadelta-guarded",
              "rmsprop-stable", "adadelta-stable", "adam"}),
      integer("iterations", "",
              fmt::format("the most iterations; with --rule {} if it is not given", kAlgorithm1Iterations), 1,
              kMost),
      integer("draws", "",
              fmt::format("with --rule: draws per iteration; {} if it is not given", kAlgorithm1.draws), 1,
              10'000),
      flag("antithetic",
           "with --rule: antithetic draws, in pairs mirrored at the mean; 2 if their number is not given"),
      choice("estimator", "",
             fmt::format("with --rule: the gradient estimator; {}, the paper's, if it is not given",
                         name(kAlgorithm1.estimator)),
             {"entropy", "path"}),
      integer("batch", "",
              "fit on minibatches of so many rows, drawn anew for each evaluation (for very long tables)", 1,
              kMost),
      file("init", "start from the values in this file: JSON, parameter names and values"),
      integer("starts", standard(std::int64_t{kFit.starts}),
              "of the default optimiser: points from which modes are searched", 1, 1000),
      integer(
          "evaluations", "",
          fmt::format("of the default optimiser: the most gradients; {} plus {} per parameter if it is not "
                      "given",
                      kFit.evaluation_limit(0), kFit.evaluation_limit(1) - kFit.evaluation_limit(0)),
          1, kMost),
      integer("seed", standard(static_cast<std::int64_t>(kFit.seed)), "the seed of all random numbers", 0,
              kMost),
      integer("threads", standard(std::int64_t{kFit.threads}),
              "threads; 0: the machine's cores where that pays; the result does not depend on their number",
              0, 1024),
      positive("time-limit", "SECONDS", "", "stop after this time and save"),
  };
}

std::vector<OptionSpec> output_options() {
  return {
      {.name = "out",
       .value = "FOLDER",
       .standard = "",
       .help = "the folder for the results, new, empty or of an earlier fit (default: the name of FILE with "
               ".fit)",
       .kind = ValueKind::folder},
      file("save-design", "write the encoded table to this design file, as 'magva convert' does"),
      force_option(),
      flag("resume", "go on with the fit in --out that was interrupted"),
      positive("checkpoint", "SECONDS", standard(CheckpointOptions{}.every),
               "the time between two checkpoints for --resume"),
      file("config", "read options from a file: JSON or lines key = value; the command line goes first"),
      flag("quiet", "show no progress and no result"),
  };
}

}  // namespace

OptionSpec level_option() {
  return {.name = "level",
          .value = "P",
          .standard = "0.9",
          .help = "the probability of the intervals",
          .kind = ValueKind::number,
          .check = [](const std::string& text) -> std::string {
            const auto value = options::to_number(text);
            return value && *value > 0 && *value < 1 ? "" : "a number between 0 and 1";
          }};
}

OptionSpec missing_option() {
  return choice("missing", "refuse", "what to do about rows with missing cells", {"refuse", "drop"});
}

std::vector<OptionSpec> reading_options() {
  return {
      choice("format", "auto", "the format of the table", {"auto", "csv", "libsvm"}),
      {.name = "separator",
       .value = "CHARACTER",
       .standard = "",
       .help = "the separator of a CSV file, or the word tab (default: found by looking)",
       .check =
           [](const std::string& text) {
             return text == "tab" || text.size() == 1 ? "" : "one character or tab";
           }},
      column("text", "read this column as text, whatever it holds", true),
  };
}

std::vector<options::OptionGroup> convert_option_groups() {
  std::vector<OptionSpec> encoding = {response_option(),
                                      choice("model", "auto", "the model that the response is encoded for",
                                             {"auto", "logistic", "linear", "poisson"})};
  for (auto& option : data_options()) encoding.push_back(std::move(option));
  encoding.push_back({.name = "like",
                      .value = "FOLDER",
                      .standard = "",
                      .help = "encode the rows as the data of this fit, or of this design file, were",
                      .kind = ValueKind::folder});
  return {{"Data", std::move(encoding)},
          {"Output", {file("out", "the design file"), flag("quiet", "say nothing"), force_option()}}};
}

std::vector<options::OptionGroup> fit_option_groups() {
  return {{"Model", model_options()},
          {"Data", fitted_data_options()},
          {"Stan models", stan_options()},
          {"Fitting", fitting_options()},
          {"Output", output_options()}};
}

}  // namespace magva::commands
