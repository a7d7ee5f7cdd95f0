// Prints, for every problem and rank, the gap in nats to the family's best: after 5,000 gradients and at the
// stop for the default with draws, at the stop without, after 5,000 gradients for the paper's eight methods,
// VAFC and mean-field.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <cstdlib>

#include "algorithm1/fitter.hpp"
#include "fit/runs.hpp"
#include "magva/fit.hpp"
#include "problems.hpp"

namespace magva::bench {
namespace {

constexpr std::int64_t kBudget = 5000;
constexpr Index kLarge = 1000;  // parameters from which on a run takes minutes
constexpr int kLargeSeeds = 2;  // and only so many are made

struct Options {
  int seeds = 8;
  std::string only;
  bool default_only = false;
  bool exact_only = false;
};

struct Tally {
  int runs = 0;
  int converged = 0;
  int broken = 0;  // said converged and were further away than promised
};

double promise(Index m) { return promised_nats(m); }

/// The default run to its end.
struct Run {
  FitResult result;
  double early;  // ELBO after kBudget gradients
};

Run run_default(const Target& target, Index rank, int seed) {
  FitOptions options;
  options.rank = rank;
  options.shape = ShapeChoice::kGaussian;  // other shapes may be nearer than the best of the family
  options.seed = static_cast<std::uint64_t>(seed);
  options.diagnostic_draws = 100;
  FitResult result = fit(target.model(), options);
  options.max_evaluations = kBudget;
  return {std::move(result), target.elbo(fit(target.model(), options).posterior)};
}

/// What an exact fit promises where m is at most kExactDimension.
constexpr double kExactPromise = .01;
constexpr Index kExactDimension = 2000;

std::vector<FitResult> run_exact(const Target& target, Index rank, int seeds) {
  std::vector<FitResult> out;
  for (int seed = 1; target.exact_model() != nullptr && seed <= seeds; ++seed) {
    FitOptions options;
    options.rank = rank;
    options.seed = static_cast<std::uint64_t>(seed);
    out.push_back(fit(*target.exact_model(), options));
  }
  return out;
}

void print_exact(const std::string& name_of, const Target& target, const std::vector<FitResult>& results,
                 double best, Index rank, Tally& tally) {
  const Index m = target.model().dimension();
  for (std::size_t k = 0; k < results.size(); ++k) {
    const FitResult& result = results[k];
    const double gap = best - target.elbo(result.posterior);
    const bool converged = result.stopped == StopReason::kConverged;
    const bool broken = converged && gap > (m <= kExactDimension ? kExactPromise : promise(m));
    ++tally.runs;
    tally.converged += converged ? 1 : 0;
    tally.broken += broken ? 1 : 0;
    fmt::print("| {} | {} | exact, seed {} | | {:.4f} after {} passes and {:.2f} s, {}{} |\n", name_of, rank,
               k + 1, gap, result.gradient_evaluations, result.seconds, to_string(result.stopped),
               broken ? ", **not as promised**" : "");
  }
  std::fflush(stdout);
}

double run_method(const Target& target, Index rank, FamilyKind family, RuleKind rule) {
  FitterOptions options;
  options.family = family;
  options.rank = rank;
  options.factor_rule = rule_defaults(rule);
  options.max_iterations = kBudget;
  return target.elbo(Fitter(target.model(), options).run().posterior);
}

void print_paper(const std::string& name_of, const Target& target, double best, Index rank) {
  const auto print = [&](FamilyKind family, RuleKind rule) {
    fmt::print("| {} | {} | {} {} | {:.2f} | |\n", name_of, rank, name(family), name(rule),
               best - run_method(target, rank, family, rule));
    std::fflush(stdout);
  };
  if (rank == 0) return print(FamilyKind::kMeanField, RuleKind::kAdadeltaStable);
  print(FamilyKind::kVafc, RuleKind::kAdadeltaStable);
  for (const FamilyKind family : {FamilyKind::kStiefel, FamilyKind::kGrassmann})
    for (const RuleKind rule :
         {RuleKind::kBasic, RuleKind::kMomentum, RuleKind::kRmsprop, RuleKind::kAdadelta})
      print(family, rule);
}

void print_default(const std::string& name_of, const Target& target, const std::vector<Run>& runs,
                   double best, Index rank, Tally& tally) {
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const FitResult& result = runs[k].result;
    const double gap = best - target.elbo(result.posterior);
    const bool converged = result.stopped == StopReason::kConverged;
    const bool broken = converged && gap > promise(target.model().dimension());
    ++tally.runs;
    tally.converged += converged ? 1 : 0;
    tally.broken += broken ? 1 : 0;
    fmt::print("| {} | {} | default, seed {} | {:.3f} | {:.3f} after {}, {}{} |\n", name_of, rank, k + 1,
               best - runs[k].early, gap, result.gradient_evaluations, to_string(result.stopped),
               broken      ? ", **not as promised**"
               : converged ? ""
                           : ": " + result.stop_detail);
  }
  std::fflush(stdout);
}

int run(const std::string& ionosphere_path, const Options& options) {
  Tally tally;
  fmt::print(
      "| problem | rank | method | gap after {} gradients | gap at the stop |\n|---|---|---|---|---|\n",
      kBudget);
  for (const Problem& problem : problems(ionosphere_path)) {
    if (problem.name.find(options.only) == std::string::npos) continue;
    const auto target = problem.make();
    const Index m = target->model().dimension();
    for (const Index rank : problem.ranks) {
      std::vector<Run> runs;
      std::vector<Gaussian> found;
      const int seeds = m < kLarge ? options.seeds : std::min(options.seeds, kLargeSeeds);
      const std::vector<FitResult> exact = run_exact(*target, rank, std::min(options.seeds, kLargeSeeds));
      for (const FitResult& result : exact) found.push_back(result.posterior);
      for (int seed = 1; seed <= seeds && !options.exact_only; ++seed) {
        runs.push_back(run_default(*target, rank, seed));
        found.push_back(runs.back().result.posterior);
      }
      if (found.empty()) continue;
      const double best = target->best(rank, found);
      print_exact(problem.name, *target, exact, best, rank, tally);
      print_default(problem.name, *target, runs, best, rank, tally);
      if (!options.default_only && !options.exact_only && rank < m)
        print_paper(problem.name, *target, best, rank);
    }
  }
  fmt::print(
      "\n{} runs of the default, with draws and without, {} said converged, {} of these were further away "
      "than promised\n",
      tally.runs, tally.converged, tally.broken);
  return tally.broken == 0 ? 0 : 1;
}

}  // namespace
}  // namespace magva::bench

int main(int argc, char** argv) {
  magva::bench::Options options;
  CLI::App app{"The gap in nats to the best Gaussian of its family, for the default and the paper's methods"};
  app.add_option("--seeds", options.seeds, "runs of the default for each problem and rank")
      ->check(CLI::PositiveNumber);
  app.add_option("--only", options.only, "only problems whose name contains this");
  app.add_flag("--default-only", options.default_only, "without the paper's methods");
  app.add_flag("--exact-only", options.exact_only, "only fits without draws, and problems that have them");
  CLI11_PARSE(app, argc, argv);
  const char* shared = std::getenv("MAGVA_SHARED");
  const std::string folder = shared != nullptr ? shared : "../shared";
  return magva::bench::run(folder + "/data/ionosphere_111.csv", options);
}
