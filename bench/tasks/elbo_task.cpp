#include "glm.hpp"
#include "magva/fit.hpp"
#include "target.hpp"
#include "tasks.hpp"

namespace magva::bench {

namespace {

/// The fastest of a few fits with the same budget, which all end at the same Gaussian.
FitResult fastest_fit(const Regression& model, const FitOptions& options) {
  FitResult best = fit(model, options);
  for (int again = 0; again < 2; ++again) {
    FitResult next = fit(model, options);
    if (next.seconds < best.seconds) best = std::move(next);
  }
  return best;
}

}  // namespace

nlohmann::json default_elbo_over_time(const TaskProblem& problem, const std::filesystem::path& folder) {
  const Regression model = model_of(problem);
  const Glm glm(Likelihood::kLogistic, problem.x, problem.y, Vector::Constant(problem.dimension(), 10));
  const double oracle = exact_target(glm)->best(problem.rank, {});
  nlohmann::json runs = nlohmann::json::array();
  double best = oracle;
  for (double budget = 400; budget < 100'000; budget *= 1.25) {
    FitOptions options;
    options.rank = problem.rank;
    options.max_evaluations = static_cast<std::int64_t>(budget);
    options.diagnostic_draws = 100;
    const FitResult result = fastest_fit(model, options);
    const double elbo = glm.elbo(result.posterior);
    best = std::max(best, elbo);
    runs.push_back(
        {{"evaluations", result.gradient_evaluations}, {"seconds", result.seconds}, {"elbo", elbo}});
    // Python checks its own exact ELBO with these.
    save_npy(folder / "default-mean.npy", result.posterior.mean());
    save_npy(folder / "default-factors.npy", result.posterior.factors());
    save_npy(folder / "default-residual_sd.npy", result.posterior.residual_sd());
    if (result.stopped == StopReason::kConverged) break;
  }
  return {{"runs", runs}, {"oracle", oracle}, {"best", best}};
}

}  // namespace magva::bench
