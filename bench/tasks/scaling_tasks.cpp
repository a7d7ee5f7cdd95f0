#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>

#include "algorithm1/fitter.hpp"
#include "tasks.hpp"
#include "timing.hpp"

namespace magva::bench {

namespace {

/// Independent normals: as cheap as a target can be.
class CheapTarget {
 public:
  explicit CheapTarget(Index m) : m_(m) {}
  Index dimension() const { return m_; }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const {
    const Index tasks = m_ < kSmall ? 1 : kTasks;
    std::array<double, kTasks> squares{};
    evaluation.workers.run(tasks, [&](Index task) {
      const Range rows = piece(m_, tasks, task);
      const auto x = theta.col(0).segment(rows.begin, rows.size());
      gradient.col(0).segment(rows.begin, rows.size()) = -x;
      squares[static_cast<std::size_t>(task)] = x.squaredNorm();
    });
    log_density(0) = -.5 * std::accumulate(squares.begin(), squares.end(), 0.);
  }

 private:
  static constexpr Index kTasks = 16;
  static constexpr Index kSmall = 1 << 14;
  Index m_;
};

MadeModel<CheapTarget> cheap_target(Index m) { return make_model(CheapTarget(m)); }

FitterOptions rank_ten(RuleKind rule, int threads) {
  FitterOptions options;
  options.rank = 10;
  options.factor_rule = rule_defaults(rule);
  options.threads = threads;
  return options;
}

}  // namespace

nlohmann::json peak_memory() {
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process for the memory task");
  if (child == 0) {
    const auto model = cheap_target(1'000'000);
    Fitter fitter(model, rank_ten(RuleKind::kAdadelta, 1));
    for (int t = 0; t < 3; ++t) fitter.step();
    _exit(0);
  }
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child || status != 0)
    throw std::runtime_error("the memory task's process failed");
  return {{"peak_bytes", 1024. * static_cast<double>(usage.ru_maxrss)}};
}

nlohmann::json doublings(RuleKind rule, int threads) {
  // Which pages of memory a fit gets, and what the neighbours do, is a matter of luck.
  constexpr int kRounds = 16;
  std::map<Index, double> steps;
  for (int round = 0; round < kRounds; ++round)
    for (Index m = 1000; m <= 1'024'000; m *= 2) {
      const auto model = cheap_target(m);
      Fitter fitter(model, rank_ten(rule, threads));
      const double step = fastest(.2, [&] { fitter.step(); });
      steps[m] = round == 0 ? step : std::min(steps[m], step);
    }
  nlohmann::json out = nlohmann::json::array();
  for (const auto& [m, step] : steps) {
    out.push_back({{"m", m}, {"step", step}});
    if (m > 1000) out.back()["ratio"] = step / steps[m / 2];
  }
  return out;
}

nlohmann::json threads_scaling(Index rows, Index cols, Index draws) {
  const TaskProblem problem = random_problem("threads", rows, cols, PriorKind::kNormal, 4, draws);
  const Regression model = model_of(problem);
  FitterOptions options;
  options.draws = draws;
  Fitter one(model, options);
  options.threads = 2;
  Fitter two(model, options);
  double best_one = std::numeric_limits<double>::infinity();
  double best_two = best_one;
  for (int turn = 0; turn < 3; ++turn) {
    best_one = std::min(best_one, fastest(.7, [&] { one.step(); }));
    best_two = std::min(best_two, fastest(.7, [&] { two.step(); }));
  }
  return {{"one", best_one}, {"two", best_two}, {"ratio", best_one / best_two}};
}

}  // namespace magva::bench
