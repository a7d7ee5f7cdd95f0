#include <ctime>
#include <memory>
#include <random>

#include "core/noise.hpp"
#include "magva/fit.hpp"
#include "tasks.hpp"

namespace magva::bench {

namespace {

struct TimedFit {
  FitResult result;
  double converged_after;  // seconds to the last step, before anything is assessed
  double processor;        // seconds of all threads: what a busy machine says, too
};

/// What every model told a fit before there were exact expectations, and what a user's own density tells it:
/// log densities and gradients, of which differences are all that is known of the curvature.
class DensityAlone final : public Model {
 public:
  explicit DensityAlone(const Regression& of) : of_(of) {}
  Index dimension() const override { return of_.dimension(); }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override {
    of_.evaluate(theta, log_density, gradient, evaluation);
  }
  void evaluate_antithetic(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                           Evaluation& evaluation) const override {
    of_.evaluate_antithetic(theta, log_density, gradient, evaluation);
  }
  bool evaluate_lines(ConstVectorRef centre, ConstMatrixRef directions, ConstVectorRef steps,
                      MatrixRef log_density, Evaluation& evaluation) const override {
    return of_.evaluate_lines(centre, directions, steps, log_density, evaluation);
  }
  std::unique_ptr<Scratch> make_scratch(Index max_draws) const override {
    return of_.make_scratch(max_draws);
  }
  Vector start() const override { return of_.start(); }

 private:
  const Regression& of_;
};

nlohmann::json described(const TimedFit& fit) {
  const FitResult& result = fit.result;
  return {{"seconds", result.seconds},
          {"converged_after", fit.converged_after},
          {"processor_seconds", fit.processor},
          {"elbo", result.elbo},
          {"elbo_se", result.elbo_se},
          {"evaluations", result.gradient_evaluations},
          {"converged", result.stopped == StopReason::kConverged}};
}

TimedFit fit_by(const Model& model, Index rank, Expectations expectations) {
  FitOptions options;
  options.rank = rank;
  options.expectations = expectations;
  double last_step = 0;
  const std::clock_t begin = std::clock();
  FitResult result = fit(model, options, {[&](const FitView& view) {
                           if (view.phase != Phase::kAssessment) last_step = view.seconds;
                           return true;
                         }});
  const double processor = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return {std::move(result), last_step, processor};
}

/// The fastest of three.
TimedFit exact_fit(const Regression& model, Index rank) {
  TimedFit best = fit_by(model, rank, Expectations::kAutomatic);
  for (int again = 0; again < 2; ++again) {
    TimedFit next = fit_by(model, rank, Expectations::kAutomatic);
    if (next.result.seconds < best.result.seconds) best = std::move(next);
  }
  return best;
}

}  // namespace

TaskProblem logistic_problem(const std::string& name, Index rows, Index cols, double signal, Index rank) {
  Matrix x(cols, rows);
  Matrix coefficient(cols, 1);
  Noise(3, NoiseStream::kStarts).fill(0, 0, x);
  Noise(4, NoiseStream::kStarts).fill(0, 0, coefficient);
  x.row(0).setOnes();
  const Vector eta = x.transpose() * coefficient.col(0) * (signal / std::sqrt(static_cast<double>(cols)));
  std::mt19937_64 generator(5);
  std::uniform_real_distribution<double> uniform;
  Vector y(rows);
  for (Index i = 0; i < rows; ++i) y(i) = uniform(generator) < 1 / (1 + std::exp(-eta(i))) ? 1 : 0;
  return {name, x.transpose(), y, PriorKind::kNormal, rank, 1, Matrix::Zero(cols, 1)};
}

nlohmann::json exact_over_draws(const TaskProblem& problem) {
  const Regression model = model_of(problem);
  return {{"density", described(fit_by(DensityAlone(model), problem.rank, Expectations::kDraws))},
          {"draws", described(fit_by(model, problem.rank, Expectations::kDraws))},
          {"exact", described(exact_fit(model, problem.rank))}};
}

nlohmann::json exact_full_rank(const TaskProblem& problem, const std::filesystem::path& folder) {
  save_npy(folder / (problem.name + "-x.npy"), problem.x);
  save_npy(folder / (problem.name + "-y.npy"), problem.y);
  const Regression model = model_of(problem);
  const TimedFit fit = exact_fit(model, problem.dimension());
  save_npy(folder / (problem.name + "-mean.npy"), fit.result.posterior.mean());
  return described(fit);
}

}  // namespace magva::bench
