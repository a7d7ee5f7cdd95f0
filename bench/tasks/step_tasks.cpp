#include <fmt/format.h>

#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <vector>

#include "algorithm1/fitter.hpp"
#include "machine.hpp"
#include "plain/low_rank_step.hpp"
#include "plain/models.hpp"
#include "tasks.hpp"
#include "timing.hpp"

namespace magva::bench {

namespace {

constexpr double kBudget = 1.5;      // seconds a timing
constexpr double kTolerance = 1e-9;  // between implementations
constexpr int kRounds = 4;           // of timings to compare: what the neighbours do changes within seconds
constexpr double kShort = kBudget / kRounds;

FitterOptions options_for(const TaskProblem& problem, FamilyKind family, RuleKind rule, int threads) {
  FitterOptions options;
  options.family = family;
  options.rank = problem.rank;
  options.factor_rule = rule_defaults(rule);
  options.draws = problem.draws;
  options.threads = threads;
  return options;
}

double step_seconds(const Model& model, const FitterOptions& options, double budget = kBudget) {
  Fitter fitter(model, options);
  return fastest(budget, [&] { fitter.step(); });
}

double gradient_seconds(const Regression& model, const Matrix& theta, int threads, double budget = kBudget) {
  Workers workers(threads);
  const auto scratch = model.make_scratch(theta.cols());
  Evaluation evaluation{*scratch, workers};
  Vector log_density(theta.cols());
  Matrix gradient(theta.rows(), theta.cols());
  return fastest(budget, [&] { model.evaluate(theta, log_density, gradient, evaluation); });
}

double plain_step_seconds(const TaskProblem& problem) {
  const auto plain = problem.prior == PriorKind::kNormal ? plain_logistic : plain_horseshoe;
  Matrix eta(problem.x.rows(), problem.draws);
  PlainLowRank fitter(
      [&](const Matrix& theta, Vector& log_density, Matrix& gradient) {
        plain(problem.x, problem.y, theta, log_density, gradient, eta);
      },
      problem.dimension(), problem.rank, problem.draws);
  return fastest(kBudget, [&] { fitter.step(); });
}

/// What must be read, and computed, in a step: the design once, two products with it for each draw.
nlohmann::json floor_of(const TaskProblem& problem) {
  const auto entries = static_cast<double>(problem.x.size());
  return {{"bytes", 8 * entries}, {"flops", 4 * entries * static_cast<double>(problem.draws)}};
}

}  // namespace

nlohmann::json step_times(const TaskProblem& problem, int threads, const std::filesystem::path& folder) {
  const Densities ours = our_densities(problem);
  const bool in_pairs = problem.draws % 2 == 0;
  const double difference =
      std::max(disagreement(ours, plain_densities(problem)), in_pairs ? disagreement_in_pairs(problem) : 0.);
  if (!(difference < kTolerance))
    throw std::runtime_error(
        fmt::format("{}: the model and the plain Eigen form differ by {}", problem.name, difference));
  save_for_peers(problem, ours, folder);
  const Regression model = model_of(problem);
  const auto time = [&](FitterOptions options) {
    double one = std::numeric_limits<double>::infinity();
    double all = one;
    for (int round = 0; round < kRounds; ++round) {
      options.threads = 1;
      one = std::min(one, step_seconds(model, options, kShort));
      options.threads = threads;
      if (threads > 1) all = std::min(all, step_seconds(model, options, kShort));
    }
    return nlohmann::json{{"one_thread", one}, {"seconds", std::min(one, all)}};
  };
  const auto step = [&](FamilyKind family, RuleKind rule) {
    return time(options_for(problem, family, rule, 1));
  };
  FitterOptions pairs = options_for(problem, FamilyKind::kStiefel, RuleKind::kAdadeltaStable, 1);
  pairs.antithetic = true;
  return {{"name", problem.name},
          {"rank", problem.rank},
          {"draws", problem.draws},
          {"horseshoe", problem.prior == PriorKind::kHorseshoe},
          {"threads", threads},
          {"plain_difference", difference},
          {"step", step(FamilyKind::kStiefel, RuleKind::kAdadeltaStable)},
          {"guarded_step", step(FamilyKind::kStiefel, RuleKind::kAdadeltaGuarded)},
          {"vafc_step", step(FamilyKind::kVafc, RuleKind::kAdadeltaStable)},
          {"step_in_pairs", in_pairs ? time(pairs) : nlohmann::json()},
          {"gradient", gradient_seconds(model, problem.theta, 1)},
          {"plain_step", plain_step_seconds(problem)},
          {"floor", floor_of(problem)}};
}

nlohmann::json step_over_gradient(const TaskProblem& problem) {
  const Regression model = model_of(problem);
  std::map<std::string, double> steps;
  double gradient = std::numeric_limits<double>::infinity();
  const auto time = [&](FamilyKind family, RuleKind rule) {
    const double step = step_seconds(model, options_for(problem, family, rule, 1), kShort);
    auto& fastest_step =
        steps.try_emplace(fmt::format("{} {}", name(family), name(rule)), step).first->second;
    fastest_step = std::min(fastest_step, step);
  };
  for (int round = 0; round < kRounds; ++round) {
    gradient = std::min(gradient, gradient_seconds(model, problem.theta, 1, kShort));
    time(FamilyKind::kMeanField, RuleKind::kAdadeltaStable);
    time(FamilyKind::kVafc, RuleKind::kAdadeltaStable);
    for (const RuleKind rule :
         {RuleKind::kBasic, RuleKind::kMomentum, RuleKind::kRmsprop, RuleKind::kAdadelta,
          RuleKind::kAdadeltaGuarded, RuleKind::kRmspropStable, RuleKind::kAdadeltaStable, RuleKind::kAdam})
      time(FamilyKind::kStiefel, rule);
  }
  return {{"gradient", gradient}, {"steps", steps}};
}

nlohmann::json streaming(Index rows, Index cols, Index rank, int threads) {
  const TaskProblem problem = random_problem("streaming", rows, cols, PriorKind::kNormal, rank, 1);
  const Regression model = model_of(problem);
  const FitterOptions options =
      options_for(problem, FamilyKind::kStiefel, RuleKind::kAdadeltaStable, threads);
  const auto& x = std::get<DenseRows<double>>(model.design().storage());
  const std::span numbers(x.data, static_cast<std::size_t>(x.rows * x.stride));
  Fitter fitter(model, options);
  Workers workers(threads);
  std::vector<double> reads;
  std::vector<double> steps;
  std::vector<double> shares;
  // Memory's bandwidth changes with what the neighbours do: a step is compared with the reading beside it.
  const double end = seconds_now() + kRounds * kBudget;
  while (shares.size() < 3 || seconds_now() < end) {
    reads.push_back(seconds_for(1, [&] { read_once(numbers, workers); }));
    steps.push_back(seconds_for(1, [&] { fitter.step(); }));
    shares.push_back(reads.back() / steps.back());
  }
  const auto bytes = static_cast<double>(numbers.size_bytes());
  return {{"rows", rows},
          {"cols", cols},
          {"threads", threads},
          {"step", median(steps)},
          {"bytes_a_second", bytes / median(steps)},
          {"bandwidth", bytes / median(reads)},
          {"share", median(shares)}};
}

}  // namespace magva::bench
