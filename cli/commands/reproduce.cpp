#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "commands/commands.hpp"
#include "exit_codes.hpp"
#include "experiments/ionosphere.hpp"
#include "experiments/leukemia.hpp"
#include "experiments/reproduce.hpp"
#include "experiments/simulation.hpp"
#include "fitting/interrupt.hpp"
#include "options/option_spec.hpp"
#include "options/values.hpp"
#include "terminal/terminal.hpp"

namespace magva::commands {

namespace {

using options::ValueKind;
using options::Values;

/// Runs done, of all: a line that is rewritten on a terminal, a line for every tenth elsewhere.
class RunCounter {
 public:
  explicit RunCounter(bool quiet) : quiet_(quiet), terminal_(terminal::is_terminal(stderr)) {}

  void show(const std::string& experiment, std::size_t done, std::size_t all) {
    if (quiet_) return;
    const std::size_t tenth = all == 0 ? 10 : 10 * done / all;
    if (!terminal_ && experiment == experiment_ && tenth == tenth_) return;
    experiment_ = experiment;
    tenth_ = tenth;
    fmt::print(stderr, "{}{}: {} of {} runs{}", terminal_ ? "\r\033[K" : "", experiment, done, all,
               terminal_ ? "" : "\n");
    open_ = terminal_;
  }
  void announce(const std::string& sentence) {
    if (!quiet_) say(sentence);
  }
  void say(const std::string& sentence) {
    finish();
    terminal::say_line(sentence);
  }
  void finish() {
    if (open_) terminal::say("\n");
    open_ = false;
  }

 private:
  bool quiet_, terminal_, open_ = false;
  std::string experiment_;
  std::size_t tenth_ = 0;
};

experiments::ReproduceOptions reproduce_options(const Values& values) {
  experiments::ReproduceOptions o;
  o.out = values.text("out");
  o.thorough = values.flag("thorough");
  if (values.given("repetitions")) o.repetitions = values.integer("repetitions");
  if (values.given("iterations")) o.iterations = values.integer("iterations");
  o.threads = values.given("threads") ? static_cast<int>(values.integer("threads"))
                                      : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  o.seed = static_cast<std::uint64_t>(values.integer("seed"));
  o.folds = values.text("folds");
  o.data = values.text("data");
  o.outlier_scale = values.number("a");
  o.noise_sd = values.number("sigma");
  return o;
}

std::vector<std::string> chosen(const std::string& word) {
  if (word == "all") return experiments::experiment_names();
  return {word};
}

int run_reproduce(const Values& values) {
  const auto options = reproduce_options(values);
  const auto started = std::chrono::steady_clock::now();
  const fitting::InterruptGuard guard;
  RunCounter counter(values.flag("quiet"));
  const experiments::Console console{
      [&](const std::string& name, std::size_t done, std::size_t all) { counter.show(name, done, all); },
      [&](const std::string& sentence) { counter.announce(sentence); },
      [&](const std::string& sentence) { counter.say(sentence); }, fitting::InterruptGuard::asked};
  const auto outcome = experiments::reproduce(chosen(values.arguments.at(0)), options, console);
  counter.finish();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (outcome == experiments::Outcome::interrupted) {
    counter.say("interrupted: the same command goes on with the runs that are left");
    return kNotTrusted;
  }
  const auto report = options.out / "report.html";
  if (!values.flag("quiet") && std::filesystem::exists(report))
    fmt::print("{:.0f} s; the report is {}\n", std::ceil(seconds), report.string());
  return outcome == experiments::Outcome::done ? kOk : kIo;
}

options::OptionSpec count(std::string name, std::string help, std::int64_t least, std::int64_t most) {
  return {.name = std::move(name),
          .value = "N",
          .standard = "",
          .help = std::move(help),
          .kind = ValueKind::integer,
          .check = options::integer_between(least, most)};
}

std::vector<options::OptionGroup> reproduce_option_groups() {
  options::OptionSpec seed =
      count("seed", "the seed of data, folds, starts and draws", 0, std::numeric_limits<int>::max());
  seed.standard = "1";
  const experiments::SimulationSettings simulation;
  const experiments::IonosphereSettings ionosphere;
  const experiments::LeukemiaSettings leukemia;
  return {
      {"What to run",
       {{.name = "thorough",
         .value = "",
         .standard = "",
         .help = "three to eight times the repetitions, splits, data sets and seeds",
         .kind = ValueKind::flag},
        count("repetitions",
              fmt::format("of each method, and splits, data sets and seeds; otherwise {}, {} and {} for "
                          "simulation, ionosphere and leukemia",
                          simulation.repetitions, ionosphere.repetitions, leukemia.repetitions),
              1, 10'000),
        count("iterations",
              fmt::format("of each fit; otherwise as in the paper: {}, {} and {}", simulation.iterations,
                          ionosphere.iterations, leukemia.iterations),
              10, 10'000'000),
        std::move(seed),
        {.name = "a",
         .value = "X",
         .standard = fmt::format("{}", simulation.outlier_scale),
         .help = "of the simulation: an outlier's variance over that of the other points",
         .kind = ValueKind::number,
         .check = options::positive_number()},
        {.name = "sigma",
         .value = "X",
         .standard = fmt::format("{}", simulation.noise_sd),
         .help = "of the simulation: the standard deviation of the noise",
         .kind = ValueKind::number,
         .check = options::positive_number()},
        {.name = "folds",
         .value = "FILE",
         .standard = "",
         .help = "of ionosphere: a file with the fold of each row, from 1, below a header line, as one more "
                 "split beside those from the seed",
         .kind = ValueKind::file},
        {.name = "data",
         .value = "FOLDER",
         .standard = "",
         .help = "where data files are, such as LIBSVM's leu and leu.t; otherwise the environment "
                 "variable MAGVA_DATA",
         .kind = ValueKind::folder}}},
      {"How to run",
       {count("threads", "runs at a time; otherwise one for each processor", 1, 1024),
        {.name = "out",
         .value = "FOLDER",
         .standard = "results",
         .help = "where results go",
         .kind = ValueKind::folder},
        {.name = "quiet",
         .value = "",
         .standard = "",
         .help = "say nothing while it runs",
         .kind = ValueKind::flag}}}};
}

}  // namespace

options::Command reproduce() {
  return {
      .name = "reproduce",
      .summary = "run the paper's experiments and compare with its figures",
      .description =
          "Runs one of the paper's three experiments, or all of them, and writes tables, figures and "
          "report.html to the "
          "folder --out.\n"
          "It says first how long it will take. "
          "Finished runs are kept: after an interruption the same command goes on with those that are left. "
          "Results do not depend on --threads.",
      .arguments = {{"EXPERIMENT", "simulation, ionosphere, leukemia or all", ValueKind::text}},
      .groups = reproduce_option_groups(),
      .examples = {{"the second experiment", "magva reproduce ionosphere"},
                   {"all, with more repetitions, on 16 cores", "magva reproduce all --thorough --threads 16"},
                   {"a quick look at all",
                    "magva reproduce all --repetitions 2 --iterations 500 --out quick"}},
      .run = run_reproduce};
}

}  // namespace magva::commands
