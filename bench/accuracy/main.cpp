// Prints, for every problem and rank, the gap in nats to the family's best, known without noise: after 5,000
// gradients and at the stop for the default, after 5,000 gradients for the paper's eight methods, VAFC and
// mean-field.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "magva/auto/constants.hpp"
#include "magva/auto/fit_auto.hpp"
#include "oracle.hpp"
#include "problems.hpp"

namespace magva::bench {
namespace {

constexpr std::int64_t kBudget = 5000;

struct Tally {
  int runs = 0;
  int converged = 0;
  int broken = 0;  // said converged and were further away than promised
};

double promise(Index m) {
  return std::max(constants::kToleranceNats, constants::kToleranceShare * static_cast<double>(m));
}

void run_default(const Problem& problem, const Optimum& best, Index rank, int seeds, Tally& tally) {
  for (int seed = 1; seed <= seeds; ++seed) {
    AutoOptions options;
    options.rank = rank;
    options.seed = static_cast<std::uint64_t>(seed);
    options.elbo_draws = 100;
    const AutoResult result = fit_auto(problem.glm, options);
    const double gap = best.elbo - problem.glm.elbo(result.posterior);
    options.max_evaluations = kBudget;
    const double early = best.elbo - problem.glm.elbo(fit_auto(problem.glm, options).posterior);
    const bool converged = result.stopped == StopReason::kConverged;
    ++tally.runs;
    tally.converged += converged ? 1 : 0;
    tally.broken += converged && gap > promise(problem.glm.dimension()) ? 1 : 0;
    fmt::print("| {} | {} | default, seed {} | {:.3f} | {:.3f} after {}, {} |\n", problem.name, rank, seed,
               early, gap, result.gradient_evaluations, words(result.stopped));
    std::fflush(stdout);
  }
}

void run_method(const Problem& problem, const Optimum& best, Index rank, FamilyKind family, RuleKind rule) {
  FitOptions options;
  options.family.kind = family;
  options.family.rank = rank;
  options.factor_rule = rule_defaults(rule);
  options.max_iterations = kBudget;
  const FitResult result = Fitter(problem.glm, options).run();
  fmt::print("| {} | {} | {} {} | {:.2f} | |\n", problem.name, rank, name(family), name(rule),
             best.elbo - problem.glm.elbo(result.posterior));
  std::fflush(stdout);
}

void run_paper(const Problem& problem, const Optimum& best, Index rank) {
  if (rank == 0) return run_method(problem, best, 0, FamilyKind::kMeanField, RuleKind::kAdadeltaStable);
  run_method(problem, best, rank, FamilyKind::kVafc, RuleKind::kAdadeltaStable);
  for (const FamilyKind family : {FamilyKind::kStiefel, FamilyKind::kGrassmann})
    for (const RuleKind rule :
         {RuleKind::kBasic, RuleKind::kMomentum, RuleKind::kRmsprop, RuleKind::kAdadelta})
      run_method(problem, best, rank, family, rule);
}

int run(const std::string& ionosphere_path, int seeds, bool with_paper) {
  Tally tally;
  fmt::print(
      "| problem | rank | method | gap after {} gradients | gap at the stop |\n|---|---|---|---|---|\n",
      kBudget);
  for (const Problem& problem : problems(ionosphere_path))
    for (const Index rank : problem.ranks) {
      const Optimum best = best_gaussian(problem.glm, rank, Vector::Zero(problem.glm.dimension()));
      run_default(problem, best, rank, seeds, tally);
      if (with_paper && rank < problem.glm.dimension()) run_paper(problem, best, rank);
    }
  fmt::print("\n{} runs of the default, {} said converged, {} of these were further away than promised\n",
             tally.runs, tally.converged, tally.broken);
  return tally.broken == 0 ? 0 : 1;
}

}  // namespace
}  // namespace magva::bench

int main(int argc, char** argv) {
  const char* shared = std::getenv("MAGVA_SHARED");
  const std::string folder = shared != nullptr ? shared : "../shared";
  const int seeds = argc > 1 ? std::atoi(argv[1]) : 3;
  const bool with_paper = argc <= 2 || std::strcmp(argv[2], "default") != 0;
  return magva::bench::run(folder + "/data/ionosphere_111.csv", std::max(1, seeds), with_paper);
}
