#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <thread>

#include "commands/commands.hpp"
#include "commands/fit_options.hpp"
#include "commands/outputs.hpp"
#include "commands/ranks.hpp"
#include "commands/sources.hpp"
#include "exit_codes.hpp"
#include "fitting/interrupt.hpp"
#include "fitting/run.hpp"
#include "magva/device.hpp"
#include "magva/error.hpp"
#include "magva/fit_folder.hpp"
#include "magva/prediction.hpp"
#include "magva/stored_check.hpp"
#include "results/sd_record.hpp"
#include "results/text.hpp"
#include "results/unfinished_fit.hpp"
#include "table/byte_source.hpp"
#include "table/part_files.hpp"
#include "terminal/terminal.hpp"

namespace magva::commands {

namespace {

using fitting::FitOutcome;
using options::Values;
using results::FitFolder;
using results::FitRecord;
using results::UnfinishedFit;

/// Options that say how to run and where to write, not what to fit.
const std::vector<std::string> kNotRecorded = {"out", "resume", "config", "quiet", "save-design", "force"};
/// Options that may change when a fit is resumed.
const std::vector<std::string> kMayChange = {"threads", "device", "time-limit", "checkpoint"};

/// A file's path as it can be found from any folder; "-" is standard input.
std::string absolute(const std::string& file) {
  return file == "-" ? file : std::filesystem::absolute(file).string();
}

results::Json recorded_options(const Values& values) {
  results::Json json = values.to_json();
  for (const auto& name : kNotRecorded) json.erase(name);
  for (const auto& option : values.command().options())
    if (option.kind == options::ValueKind::file && json.contains(option.name))
      json[option.name] = absolute(values.text(option.name));
  return json;
}

std::vector<std::string> recorded_arguments(const Values& values) {
  std::vector<std::string> all;
  for (const auto& argument : values.arguments) all.push_back(absolute(argument));
  return all;
}

std::uint64_t seed_of(const Values& values) { return static_cast<std::uint64_t>(values.integer("seed")); }

std::filesystem::path out_folder(const Values& values) {
  if (values.given("out")) return values.text("out");
  if (values.arguments.empty() || values.arguments[0] == "-" || table::is_pattern(values.arguments[0]))
    throw UsageError("no folder is named for the results: choose one with --out");
  return std::filesystem::path(values.arguments[0]).stem().string() + ".fit";
}

/// A Stan model is code: it is run if the user names it, not because a folder does.
void check_stan_model_named(const Values& values, const FitRecord& record) {
  if (record.arguments.empty() || !source::is_stan_file(record.arguments[0]) || !values.arguments.empty())
    return;
  throw UsageError(fmt::format(
      "to go on with this fit is to run its Stan model, which is code: if you trust it, name it, as in magva "
      "fit {} --resume",
      record.arguments[0]));
}

/// Takes the options of the interrupted fit; those given now must be the same.
void take_recorded(Values& values, const FitRecord& record, const FitFolder& folder) {
  const bool finished = !record.running() && record.stopped != to_string(StopReason::kInterrupted) &&
                        record.stopped != to_string(StopReason::kTimeLimit);
  if (finished)
    throw UsageError(fmt::format("there is nothing to resume in '{}': that fit has ended ({})",
                                 folder.path().string(), record.stopped));
  check_stan_model_named(values, record);
  std::vector<std::string> different;
  const auto now = recorded_options(values);
  for (const auto& [name, value] : record.options.items()) {
    const bool free = std::find(kMayChange.begin(), kMayChange.end(), name) != kMayChange.end();
    if (values.given(name) && !free && now.at(name).dump() != value.dump()) different.push_back("--" + name);
  }
  if (!values.arguments.empty() && recorded_arguments(values) != record.arguments)
    different.insert(different.begin(), "FILE");
  if (!different.empty())
    throw UsageError(fmt::format("a resumed fit keeps its options, but {} {} from those in '{}'",
                                 fmt::join(different, ", "), different.size() == 1 ? "differs" : "differ",
                                 folder.record().string()));
  values.arguments = record.arguments;
  values.fill_in(record.options, fmt::format("'{}'", folder.record().string()));
}

void check_data_unchanged(const source::DataRecord& now, const source::DataRecord& then) {
  if (now.sha256 != then.sha256)
    throw DataError(fmt::format("cannot resume: '{}' has changed since the fit began", then.file));
}

FitRecord new_record(const Values& values, const source::ModelSource& source) {
  FitRecord record = results::begin_record(source);
  record.arguments = recorded_arguments(values);
  record.options = recorded_options(values);
  return record;
}

void say_result(const FitRecord& record, const Values& values) {
  const std::string folder = out_folder(values).string();
  const std::string shape = record.details.value("shape", "gaussian");
  fmt::print("{}: ELBO {} (standard error {:.2g}), {}rank {}, {} iterations, {:.1f} s\n", record.stopped,
             results::elbo_text(record.elbo.value_or(std::nan("")), 2), record.elbo_se.value_or(std::nan("")),
             shape == "gaussian" ? "" : shape + ", ", record.rank, record.iterations, record.seconds);
  fmt::print("written to {}; see it with: magva summary {}\n", folder, folder);
}

/// What was found out about the data since the fit began.
void say_new_notes(const FitRecord& record, const source::ModelSource& source) {
  for (std::size_t i = source.notes.size(); i < record.notes.size(); ++i)
    terminal::say(fmt::format("note: {}\n", results::printable(record.notes[i])));
}

void say_warnings(const FitRecord& record) {
  for (const auto& warning : record.warnings)
    terminal::say(
        fmt::format("{} {}\n", terminal::warning_colour(stderr, "warning:"), results::printable(warning)));
}

/// The model's own account of what went wrong goes with an error about its values.
FitOutcome run_fit(const fitting::FitTask& task) {
  const fitting::InterruptGuard guard;
  try {
    FitOutcome outcome = fitting::run(task);
    task.progress.finish();
    return outcome;
  } catch (const DataError& error) {
    const auto account = task.source.reporter->warnings();
    if (account.empty()) throw;
    throw DataError(fmt::format("{}; {}", error.what(), account.front()));
  }
}

/// Does the model fit its data? Unset for models that cannot be checked, and for very long tables.
std::optional<results::StoredCheck> check_of(const source::ModelSource& source, const Gaussian& posterior,
                                             std::uint64_t seed) {
  constexpr Index kValues = 20'000'000;  // rows times draws
  if (!source.rows || source.rows->response.size() == 0) return std::nullopt;
  const Index draws = std::clamp<Index>(kValues / source.rows->response.size(), 200, 1000);
  const auto input = prediction::check_input(source, posterior, draws, seed);
  if (!input) return std::nullopt;
  // A fit far from where it should be: the posterior rules all of its draws out, and there is nothing to
  // check.
  if (input->log_weights.size() > 0 && !std::isfinite(input->log_weights.maxCoeff())) return std::nullopt;
  Workers workers(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  return results::stored_check(*input, check_fit(*input, workers), source.spec->response_name());
}

/// A note if another family should be tried; `summary` says the rest.
void add_check(FitRecord& record, const FitCheck& check) {
  if (check.dispersion && !check.dispersion->advice.empty()) record.notes.push_back(check.describe());
}

/// What ties a checkpoint to its fit: the data and all options that the result depends on.
std::string identity(const FitRecord& record) {
  results::Json what = {
      {"arguments", record.arguments}, {"options", record.options}, {"data", record.data.sha256}};
  for (const auto& option : kMayChange) what["options"].erase(option);
  return table::sha256_of_text(what.dump(-1, ' ', false, results::Json::error_handler_t::replace));
}

/// A fit that was stopped early before, went on from there and was stopped early again may be worse: noise,
/// or less time. The better one stays in its place, and what was just done waits for the next --resume.
bool is_worse_than_before(const FitRecord& now, const FitFolder& place) {
  try {
    const FitRecord before = results::load_record(place.record());
    return identity(before) == identity(now) && before.elbo && !(now.elbo && *now.elbo >= *before.elbo);
  } catch (const Error&) {  // there is none, or none that can be read
    return false;
  }
}

void say_how_to_go_on(const FitFolder& place) {
  terminal::say_line(fmt::format("go on with: magva fit --resume --out {}", place.path().string()));
}

int keep_earlier(const FitRecord& record, const FitFolder& place) {
  terminal::say_line(
      fmt::format("this run ended at ELBO {}, below that of the fit in {}, which stays as it is",
                  results::elbo_text(record.elbo.value_or(std::nan("")), 2), place.path().string()));
  say_how_to_go_on(place);
  return kNotTrusted;
}

bool stopped_early(const FitResult& result) {
  return result.stopped == StopReason::kInterrupted || result.stopped == StopReason::kTimeLimit;
}

/// Puts a fit whose files are all written in its place.
int put_in_place(const Values& values, UnfinishedFit& fit, const FitRecord& record) {
  fit.install();
  if (!values.flag("quiet")) say_result(record, values);
  say_warnings(record);
  return record.trusted.value_or(false) ? kOk : kNotTrusted;
}

void complete(FitRecord& record, const source::ModelSource& source, const FitOutcome& outcome,
              const Values& values) {
  results::complete_record(record, source, outcome.result, seed_of(values));
  results::add_sd_correction(outcome.sds, *source.reporter, record);
}

int finish(const Values& values, const source::ModelSource& source, UnfinishedFit& fit, FitRecord record,
           const FitOutcome& outcome) {
  const bool can_go_on = stopped_early(outcome.result);
  const auto check = check_of(source, outcome.result.posterior, seed_of(values));
  if (check) add_check(record, check->check);
  if (check) results::save_check(*check, fit.folder().path() / results::kCheckFile);
  results::store_fit(fit.folder(), record, outcome.result.posterior, source, outcome.trace);
  if (!can_go_on) std::filesystem::remove(fit.folder().checkpoint());
  if (!values.flag("quiet")) say_new_notes(record, source);
  const int code = put_in_place(values, fit, record);
  if (can_go_on && !values.flag("quiet")) say_how_to_go_on(fit.destination());
  return code;
}

/// What the program does besides the fit, which counts its own seconds: it reads data and summarises the
/// result.
class Stopwatch {
 public:
  double seconds() const { return since(begun_) - left_out_; }
  /// The result of `work`, whose time is left out.
  template <class Work>
  auto without(Work work) {
    const auto from = Clock::now();
    auto out = work();
    left_out_ += since(from);
    return out;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point time) {
    return std::chrono::duration<double>(Clock::now() - time).count();
  }
  Clock::time_point begun_ = Clock::now();
  double left_out_ = 0;
};

/// Runs `work`; if it fails before anything worth keeping was written, all is as it was.
template <class Work>
auto or_discard(UnfinishedFit& fit, Work work) {
  try {
    return work();
  } catch (...) {
    const FitFolder& written = fit.folder();
    if (!written.has_checkpoint() && !std::filesystem::exists(written.posterior())) fit.discard();
    throw;
  }
}

int go_on(Values values, Ranks& ranks, UnfinishedFit& fit, const FitRecord& earlier, const FitFolder& from) {
  Stopwatch outside;
  take_recorded(values, earlier, from);
  const source::ModelSource source = ranks.make_source(values);
  check_data_unchanged(source.data, earlier.data);
  FitRecord record = new_record(values, source);
  if (from.path() != fit.folder().path()) fit.start_from(from);
  results::save(record, fit.folder().record());
  const auto progress = fitting::make_progress(values.flag("quiet"));
  const bool from_checkpoint = fit.folder().has_checkpoint();
  progress->say(from_checkpoint ? "going on from the last checkpoint"
                                : "there is no checkpoint: starting again");
  const FitOutcome outcome = outside.without([&] {
    return run_fit({source, values, fit.folder(), *progress, identity(record), from_checkpoint});
  });
  complete(record, source, outcome, values);
  record.seconds += outside.seconds();
  if (stopped_early(outcome.result) && is_worse_than_before(record, fit.destination()))
    return keep_earlier(record, fit.destination());
  return finish(values, source, fit, record, outcome);
}

int run_resumed(const Values& values, Ranks& ranks) {
  const std::filesystem::path place = out_folder(values);
  if (auto fit = UnfinishedFit::resume(place)) {
    const FitRecord record = results::load_record(fit->folder().record());
    if (record.running()) return go_on(values, ranks, *fit, record, fit->folder());
    return put_in_place(values, *fit, results::checked_record(fit->folder()));  // killed in between
  }
  const FitFolder earlier = FitFolder::open(place);
  UnfinishedFit fit = UnfinishedFit::begin(place);
  return or_discard(fit,
                    [&] { return go_on(values, ranks, fit, results::checked_record(earlier), earlier); });
}

void check_options(const Values& values, const source::ModelSource& source) {
  const auto invalid = fitting::invalid_options(values, source.model->dimension());
  if (!invalid.empty()) throw UsageError(fmt::format("{}", fmt::join(invalid, "; ")));
  fitting::parameters_asked_for(values, source);
}

source::ModelSource checked_source(const Values& values, Ranks& ranks) {
  source::ModelSource source = ranks.make_source(values);
  check_options(values, source);
  const FitOptions options = fitting::fit_options(values, source.model->dimension());
  if (options.algorithm1) {
    std::string stays =
        why_family_stays(*source.model, *options.algorithm1, options.rank.value_or(kAlgorithm1Rank));
    if (!stays.empty()) source.notes.push_back(std::move(stays));
  }
  return source;
}

int run_new(const Values& values, Ranks& ranks) {
  if (values.arguments.empty())
    throw UsageError(
        "magva fit needs a FILE: a table (CSV, TSV, LIBSVM; '-' for standard input) or a Stan model");
  if (values.given("save-design"))
    output_rule(values).check("--save-design", values.text("save-design"), results::OutputKind::kDesign);
  Stopwatch outside;
  UnfinishedFit fit = UnfinishedFit::begin(out_folder(values));
  const auto source = or_discard(fit, [&] { return checked_source(values, ranks); });
  const auto progress = fitting::make_progress(values.flag("quiet"));
  progress->say(source.description);
  for (const auto& note : source.notes) progress->say("note: " + note);
  FitRecord record = new_record(values, source);
  fit.start();
  return or_discard(fit, [&] {
    results::save(record, fit.folder().record());
    const FitOutcome outcome = outside.without([&] {
      return run_fit({source, values, fit.folder(), *progress, identity(record), false});
    });
    complete(record, source, outcome, values);
    record.seconds += outside.seconds();
    return finish(values, source, fit, record, outcome);
  });
}

}  // namespace

options::Command fit() {
  return {
      .name = "fit",
      .summary = "approximate a posterior by a Gaussian and write it to a folder",
      .description =
          "Fits a Gaussian with low-rank plus diagonal covariance, or where that is in doubt another shape, "
          "to a posterior: that of a regression "
          "on the table in "
          "FILE, or of a Stan program with its --data. Writes fit.json, trace.csv, posterior.magva and "
          "model.json to the folder --out.\n"
          "Ctrl-C once stops the fit after the current iteration and saves what there is (exit code 3); "
          "--resume "
          "goes on from there, also after a crash. Ctrl-C twice exits at once.",
      .arguments =
          {{"FILE",
            "a table with a header: CSV, TSV or LIBSVM, plain or gzipped, '-' for standard input; a "
            "design file that 'magva convert' made; a quoted pattern such as 'part-*.csv' for several files "
            "that are parts of one; or a Stan model, "
            "a .stan program (needs the environment variable BRIDGESTAN) or a BridgeStan library (.so)",
            options::ValueKind::file, false}},
      .groups = fit_option_groups(),
      .examples =
          {{"a mixed model for counts",
            "magva fit visits.csv --formula 'visits ~ age*sex + offset(log(days)) + (1 | clinic)' --family "
            "negbinomial --out fit/"},
           {"logistic regression on all columns", "magva fit ionosphere.csv --response Class --out fit/"},
           {"a horseshoe prior on standardised columns",
            "magva fit genes.csv --response type --prior horseshoe --standardise --out fit/"},
           {"a smooth curve", "magva fit xy.csv --response y --model pspline --covariate x --out fit/"},
           {"the paper's Algorithm 1",
            "magva fit ionosphere.csv --response Class --rule adadelta --approximation grassmann --rank "
            "4 --out fit/"},
           {"a posterior that is skewed", "magva fit trial.csv --response cured --shape skewed --out fit/"},
           {"a Stan program", "magva fit schools.stan --data schools.json --out fit/"},
           {"go on after an interruption", "magva fit --resume --out fit/"}},
      .run = [](const Values& values) {
        Ranks ranks;
        if (!ranks.leads()) return ranks.serve();
        return values.flag("resume") ? run_resumed(values, ranks) : run_new(values, ranks);
      }};
}

}  // namespace magva::commands
