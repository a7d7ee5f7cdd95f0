#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "commands/commands.hpp"
#include "commands/fit_options.hpp"
#include "commands/ranks.hpp"
#include "commands/sources.hpp"
#include "exit_codes.hpp"
#include "fitting/interrupt.hpp"
#include "fitting/run.hpp"
#include "magva/error.hpp"
#include "magva/fit_folder.hpp"
#include "results/text.hpp"
#include "terminal/terminal.hpp"

namespace magva::commands {

namespace {

using fitting::FitOutcome;
using options::Values;
using results::FitFolder;
using results::FitRecord;

/// Options that say how to run and where to write, not what to fit.
const std::vector<std::string> kNotRecorded = {"out", "resume", "config", "quiet", "save-design"};
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

std::filesystem::path out_folder(const Values& values) {
  if (values.given("out")) return values.text("out");
  if (values.arguments.empty() || values.arguments[0] == "-")
    throw UsageError("no folder is named for the results: choose one with --out");
  return std::filesystem::path(values.arguments[0]).stem().string() + ".fit";
}

/// Takes the options of the interrupted fit; those given now must be the same.
void take_recorded(Values& values, const FitRecord& record, const FitFolder& folder) {
  const bool finished = !record.running() && record.stopped != to_string(StopReason::kInterrupted) &&
                        record.stopped != to_string(StopReason::kTimeLimit);
  if (finished)
    throw UsageError(fmt::format("there is nothing to resume in '{}': that fit has ended ({})",
                                 folder.path().string(), record.stopped));
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

void say_result(const FitRecord& record, const FitFolder& folder) {
  fmt::print("{}: ELBO {} (standard error {:.2g}), rank {}, {} iterations, {:.1f} s\n", record.stopped,
             results::elbo_text(record.elbo.value_or(std::nan("")), 2), record.elbo_se.value_or(std::nan("")),
             record.rank, record.iterations, record.seconds);
  fmt::print("written to {}; see it with: magva summary {}\n", folder.path().string(),
             folder.path().string());
}

void say_warnings(const FitRecord& record) {
  for (const auto& warning : record.warnings)
    fmt::print(stderr, "{} {}\n", terminal::warning_colour(stderr, "warning:"), warning);
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

int finish(const Values& values, const source::ModelSource& source, const FitFolder& folder, FitRecord record,
           const FitOutcome& outcome) {
  const FitResult& result = outcome.result;
  const auto seed = static_cast<std::uint64_t>(values.integer("seed"));
  results::complete_record(record, source, result, seed);
  results::store_fit(folder, record, result.posterior, source, outcome.trace);
  const bool can_go_on =
      result.stopped == StopReason::kInterrupted || result.stopped == StopReason::kTimeLimit;
  if (!can_go_on) std::filesystem::remove(folder.checkpoint());
  if (!values.flag("quiet")) say_result(record, folder);
  say_warnings(record);
  if (folder.has_checkpoint() && !values.flag("quiet"))
    fmt::print(stderr, "go on with: magva fit --resume --out {}\n", folder.path().string());
  return record.trusted.value_or(false) ? kOk : kNotTrusted;
}

int run_resumed(Values values, Ranks& ranks) {
  const FitFolder folder = FitFolder::create(FitFolder::open(out_folder(values)).path());
  FitRecord record = results::load_record(folder.record());
  take_recorded(values, record, folder);
  const source::ModelSource source = ranks.make_source(values);
  check_data_unchanged(source.data, record.data);
  const auto progress = fitting::make_progress(values.flag("quiet"));
  const bool from_checkpoint = folder.has_checkpoint();
  progress->say(from_checkpoint ? "going on from the last checkpoint"
                                : "there is no checkpoint: starting again");
  return finish(values, source, folder, new_record(values, source),
                run_fit({source, values, folder, *progress, from_checkpoint}));
}

void check_options(const Values& values, const source::ModelSource& source) {
  const auto invalid = fitting::invalid_options(values, source.model->dimension());
  if (!invalid.empty()) throw UsageError(fmt::format("{}", fmt::join(invalid, "; ")));
}

source::ModelSource checked_source(const Values& values, Ranks& ranks) {
  source::ModelSource source = ranks.make_source(values);
  check_options(values, source);
  return source;
}

/// Runs `work`; if it fails before anything worth keeping was written, the folder is as it was.
template <class Work>
auto or_abandon(const FitFolder& folder, Work work) {
  try {
    return work();
  } catch (...) {
    if (!folder.has_checkpoint()) folder.abandon();
    throw;
  }
}

int run_new(const Values& values, Ranks& ranks) {
  if (values.arguments.empty())
    throw UsageError(
        "magva fit needs a FILE: a table (CSV, TSV, LIBSVM; '-' for standard input) or a Stan model");
  const FitFolder folder = FitFolder::create(out_folder(values));
  const auto source = or_abandon(folder, [&] { return checked_source(values, ranks); });
  const auto progress = fitting::make_progress(values.flag("quiet"));
  progress->say(source.description);
  for (const auto& note : source.notes) progress->say("note: " + note);
  const FitRecord record = new_record(values, source);
  folder.clear();
  return or_abandon(folder, [&] {
    results::save(record, folder.record());
    return finish(values, source, folder, record, run_fit({source, values, folder, *progress, false}));
  });
}

}  // namespace

options::Command fit() {
  return {.name = "fit",
          .summary = "approximate a posterior by a Gaussian and write it to a folder",
          .description =
              "Fits a Gaussian with low-rank plus diagonal covariance to a posterior: that of a regression "
              "on the table in "
              "FILE, or of a Stan program with its --data. Writes fit.json, trace.csv, posterior.magva and "
              "model.json to the folder --out.\n"
              "Ctrl-C once stops the fit after the current iteration and saves what there is (exit code 3); "
              "--resume "
              "goes on from there, also after a crash. Ctrl-C twice exits at once.",
          .arguments =
              {{"FILE",
                "a table with a header: CSV, TSV or LIBSVM, plain or gzipped, '-' for standard input; a "
                "design file that 'magva convert' made; or a Stan model, "
                "a .stan program (needs the environment variable BRIDGESTAN) or a BridgeStan library (.so)",
                options::ValueKind::file, false}},
          .groups = fit_option_groups(),
          .examples =
              {{"logistic regression", "magva fit ionosphere.csv --response Class --out fit/"},
               {"a horseshoe prior on standardised columns",
                "magva fit genes.csv --response type --prior horseshoe --standardise --out fit/"},
               {"a smooth curve", "magva fit xy.csv --response y --model pspline --covariate x --out fit/"},
               {"the paper's Algorithm 1",
                "magva fit ionosphere.csv --response Class --rule adadelta --approximation grassmann --rank "
                "4 --out fit/"},
               {"a Stan program", "magva fit schools.stan --data schools.json --out fit/"},
               {"go on after an interruption", "magva fit --resume --out fit/"}},
          .run = [](const Values& values) {
            Ranks ranks;
            if (!ranks.leads()) return ranks.serve();
            return values.flag("resume") ? run_resumed(values, ranks) : run_new(values, ranks);
          }};
}

}  // namespace magva::commands
