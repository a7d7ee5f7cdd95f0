#include "experiments/reproduce.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "core/atomic_file.hpp"
#include "experiments/claims.hpp"
#include "magva/error.hpp"
#include "magva/version.hpp"
#include "report/page.hpp"

namespace magva::experiments {

namespace {

constexpr const char* kLead =
    "<p>The experiments of the paper on Gaussian variational approximations with low-rank factors on Stiefel "
    "and Grassmann "
    "manifolds, run again by magva. Every sentence below that says how a result compares is computed from "
    "the numbers of this "
    "run. The numbers behind every figure lie beside this page, in one folder per experiment.</p>\n";

/// "40 seconds", "7 minutes".
std::string duration(double seconds) {
  return seconds < 90 ? fmt::format("{:.0f} seconds", std::ceil(seconds))
                      : fmt::format("{:.0f} minutes", std::ceil(seconds / 60));
}

/// How long the runs that are left will take.
std::string announcement(const Experiment& experiment, const std::vector<Run>& runs, const Journal& journal,
                         int threads) {
  double cost = 0;
  std::size_t left = 0;
  for (const Run& run : runs)
    if (!journal.has(run.key)) {
      cost += run.cost;
      ++left;
    }
  const double seconds = left == 0 ? 0 : cost * experiment.seconds_per_evaluation() / threads;
  return fmt::format("{}: {} runs, about {} with {} thread{}", experiment.name(), left, duration(seconds),
                     threads, threads == 1 ? "" : "s");
}

Outcome run_one(const std::string& name, const ReproduceOptions& options, const Console& console) {
  const auto experiment = make_experiment(name, options);
  const auto folder = options.out / name;
  Json settings = experiment->settings();
  settings["magva"] = version();
  Journal journal(folder / "runs.jsonl", settings);
  if (journal.replaced())
    console.say(fmt::format("{}: the runs in {} were made with other settings and are replaced", name,
                            folder.string()));
  if (journal.taken_up() > 0)
    console.say(fmt::format("{}: {} finished runs are taken over from {}", name, journal.taken_up(),
                            folder.string()));
  const std::vector<Run> runs = experiment->runs();
  console.announce(announcement(*experiment, runs, journal, options.threads));
  const bool complete =
      run_all(runs, journal, options.threads, console.stop,
              [&](std::size_t done, std::size_t all) { console.progress(name, done, all); });
  if (!complete) return Outcome::interrupted;
  for (const std::string& sentence : experiment->write(journal, folder)) console.say(sentence);
  return Outcome::done;
}

}  // namespace

std::vector<std::string> ReproduceOptions::validate() const {
  std::vector<std::string> found;
  const auto require = [&](bool fine, const char* option, double value, const char* rule) {
    if (!fine) found.push_back(fmt::format("{} is {} and must be {}", option, value, rule));
  };
  if (repetitions)
    require(*repetitions >= 1 && *repetitions <= 10'000, "--repetitions", static_cast<double>(*repetitions),
            "between 1 and 10000");
  if (iterations)
    require(*iterations >= 10 && *iterations <= 10'000'000, "--iterations", static_cast<double>(*iterations),
            "between 10 and 10000000");
  require(threads >= 1 && threads <= 1024, "--threads", threads, "between 1 and 1024");
  require(outlier_scale > 0 && std::isfinite(outlier_scale), "--a", outlier_scale, "positive");
  require(noise_sd > 0 && std::isfinite(noise_sd), "--sigma", noise_sd, "positive");
  return found;
}

const std::vector<std::string>& experiment_names() {
  static const std::vector<std::string> names{"simulation", "ionosphere", "leukemia"};
  return names;
}

std::unique_ptr<Experiment> make_experiment(const std::string& name, const ReproduceOptions& options) {
  if (name == "simulation") return make_simulation(options);
  if (name == "ionosphere") return make_ionosphere(options);
  if (name == "leukemia") return make_leukemia(options);
  throw UsageError(fmt::format("there is no experiment '{}': choose {} or all", name,
                               fmt::join(experiment_names(), ", ")));
}

Outcome reproduce(const std::vector<std::string>& names, const ReproduceOptions& options,
                  const Console& console) {
  if (const auto found = options.validate(); !found.empty())
    throw UsageError(fmt::format("{}", fmt::join(found, "; ")));
  Outcome outcome = Outcome::done;
  for (const std::string& name : names) {
    try {
      if (run_one(name, options, console) == Outcome::interrupted) return Outcome::interrupted;
      write_report(options.out);
    } catch (const MissingData& missing) {
      if (names.size() == 1) throw;
      console.say(missing.what());
      outcome = Outcome::something_missing;
    }
  }
  return outcome;
}

void write_report(const std::filesystem::path& out) {
  report::PageText text{.title = "The paper, reproduced", .lead = kLead, .body = {}};
  std::vector<Claim> claims;
  for (const std::string& name : experiment_names())
    for (Claim& claim : read_claims(out / name)) claims.push_back(std::move(claim));
  if (!claims.empty()) {
    const report::Table table = claim_table(claims);
    report::save(table, out, "claims");
    text.body.push_back(report::heading(2, "The paper's claims", "claims") + table.html());
  }
  for (const std::string& name : experiment_names())
    if (const auto section = out / name / "section.html"; std::filesystem::exists(section))
      text.body.push_back(io::read_text(section));
  report::save_page(text, out / "report.html");
}

}  // namespace magva::experiments
