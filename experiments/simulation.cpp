#include "experiments/simulation.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <random>

namespace magva::experiments {

namespace {

Pspline make_spline(const SimulatedData& data, WeibullSupport support) {
  PsplineOptions options;
  options.lower = 0;
  options.upper = 1;
  options.prior.support = support;
  return pspline_regression(data.x, data.y, Vector(), options);
}

const char* id(WeibullSupport support) {
  return support == WeibullSupport::above_one ? "printed" : "positive";
}

Vector fitted_function(const Pspline& spline, const Gaussian& posterior) {
  return spline.basis(Simulation::grid()) * posterior.mean().head(spline.basis.functions());
}

double root_mean_square(const Vector& x) {
  return std::sqrt(x.squaredNorm() / static_cast<double>(x.size()));
}

}  // namespace

SimulatedData simulate(const SimulationSettings& settings) {
  std::mt19937_64 generator(settings.seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::normal_distribution<double> normal;
  SimulatedData data{Vector(settings.samples), Vector(settings.samples)};
  for (Index i = 0; i < settings.samples; ++i) {
    data.x(i) = uniform(generator);
    const bool outlier = uniform(generator) < settings.outlier_share;
    const double sd = settings.noise_sd * (outlier ? std::sqrt(settings.outlier_scale) : 1);
    data.y(i) = std::sin(4 * std::numbers::pi * data.x(i)) + sd * normal(generator);
  }
  return data;
}

FunctionError function_error(const Vector& fitted, const Vector& grid) {
  const Vector error = fitted.array() - (4 * std::numbers::pi * grid.array()).sin();
  double squares = 0, count = 0;
  for (Index i = 0; i < grid.size(); ++i)
    for (const double turning : {.125, .375, .625, .875})
      if (std::abs(grid(i) - turning) <= .04) {
        squares += error(i) * error(i);
        ++count;
      }
  return {root_mean_square(error), std::sqrt(squares / count)};
}

Simulation::Simulation(const SimulationSettings& settings)
    : settings_(settings),
      data_(simulate(settings)),
      printed_(make_spline(data_, WeibullSupport::above_one)),
      positive_(make_spline(data_, WeibullSupport::positive)) {}

Json Simulation::settings() const {
  return {{"experiment", name()},
          {"samples", settings_.samples},
          {"outlier_scale", settings_.outlier_scale},
          {"outlier_scales", settings_.outlier_scales},
          {"noise_sd", settings_.noise_sd},
          {"iterations", settings_.iterations},
          {"seed", settings_.seed},
          {"factor_scale", settings_.start.factor_scale},
          {"residual_scale", settings_.start.residual_scale},
          {"window", settings_.window}};
}

const std::vector<FamilyKind>& Simulation::manifolds() {
  static const std::vector<FamilyKind> all{FamilyKind::kFixedRank, FamilyKind::kStiefel,
                                           FamilyKind::kGrassmann};
  return all;
}

std::vector<Method> Simulation::bound_methods() {
  std::vector<Method> methods = rules_on(FamilyKind::kFixedRank);
  const auto append = [&](std::vector<Method> more) {
    for (Method& method : more) methods.push_back(std::move(method));
  };
  append(fixed_rank_with_small_steps());
  append(rules_on(FamilyKind::kStiefel));
  append({printed_stiefel_adadelta(), decaying_steps(FamilyKind::kStiefel)});
  append(rules_on(FamilyKind::kGrassmann));
  append({decaying_steps(FamilyKind::kGrassmann)});
  for (const Method& method : manifold_methods()) append({with_plain_sgd(method)});
  return methods;
}

std::vector<Method> Simulation::prior_methods() {
  std::vector<Method> methods = manifold_methods();
  methods.push_back(decaying_steps(FamilyKind::kStiefel));
  methods.push_back(decaying_steps(FamilyKind::kGrassmann));
  return methods;
}

std::string Simulation::key(WeibullSupport support, const Method& method, Index rank, Index repetition) {
  return fmt::format("{}/{}/{}/{}", id(support), method.id, rank, repetition + 1);
}

std::string Simulation::robustness_key(const Method& method, Index rank, Index data_set) {
  return fmt::format("robustness/{}/{}/{}", method.id, rank, data_set + 1);
}

Vector Simulation::grid() { return Vector::LinSpaced(201, 0, 1); }

std::vector<Run> Simulation::runs() const {
  std::vector<Run> all;
  const auto fits = [&](WeibullSupport support, const Method& method, Index rank) {
    const double draws = method.optimiser == Optimiser::decaying_steps ? 10 : 1;
    const double cost =
        draws * static_cast<double>(settings_.iterations) + 2 * static_cast<double>(settings_.scoring_draws);
    for (Index r = 0; r < settings_.repetitions; ++r)
      all.push_back({key(support, method, rank, r),
                     [this, support, method, rank, r](const StopFlag& stop) {
                       return run_fit(support, method, rank, r, stop);
                     },
                     cost});
  };
  const auto robustness = [&](const Method& method, Index rank) {
    const double cost =
        .5 * static_cast<double>(settings_.iterations) * static_cast<double>(settings_.outlier_scales.size());
    for (Index d = 0; d < settings_.data_sets; ++d)
      all.push_back(
          {robustness_key(method, rank, d),
           [this, method, rank, d](const StopFlag& stop) { return run_robustness(method, rank, d, stop); },
           cost});
  };
  for (const WeibullSupport support : {WeibullSupport::above_one, WeibullSupport::positive}) {
    fits(support, mean_field(), 0);
    for (const Method& method : support == WeibullSupport::above_one ? bound_methods() : prior_methods())
      for (const Index rank : settings_.ranks) fits(support, method, rank);
  }
  robustness(mean_field(), 0);
  for (const Method& method : manifold_methods())
    for (const Index rank : settings_.ranks) robustness(method, rank);
  return all;
}

double Simulation::seconds_per_evaluation() const {
  return experiments::seconds_per_evaluation(
      printed_.model, fit_options(rules_on(FamilyKind::kStiefel)[2], 6, settings_.start, 1, settings_.seed));
}

Json Simulation::run_fit(WeibullSupport support, const Method& method, Index rank, Index repetition,
                         const StopFlag& stop) const {
  const auto seed = settings_.seed * 1000 + static_cast<std::uint64_t>(repetition);
  const Pspline& spline = support == WeibullSupport::above_one ? printed_ : positive_;
  Fitter fitter(spline.model, fit_options(method, rank, settings_.start, settings_.iterations, seed));
  const EngineRun run = run_engine(fitter, settings_.window, stop, {settings_.iterations / 2});
  const auto bound = [&](const Gaussian& q) {
    return score(spline.model, q, settings_.scoring_draws, seed).elbo;
  };
  Json out{{"elbo", bound(run.posterior())},
           {"elbo_half", bound(run.snapshots.front().posterior)},
           {"seconds", run.seconds},
           {"stopped", to_string(run.stopped)},
           {"rejected_draws", run.rejected_draws},
           {"factor_share", factor_share(run.posterior())},
           {"curve", run.curve.elbo}};
  if (repetition == 0) {
    const Vector fit = fitted_function(spline, run.snapshots.front().posterior);
    out["fit"] = std::vector<double>(fit.begin(), fit.end());
  }
  return out;
}

Json Simulation::run_robustness(const Method& method, Index rank, Index data_set,
                                const StopFlag& stop) const {
  SimulationSettings drawn = settings_;
  drawn.seed = settings_.seed * 1000 + static_cast<std::uint64_t>(data_set) + 1;
  Json rmse = Json::array(), turning = Json::array(), shift = Json::array();
  Vector without;
  for (const double scale : settings_.outlier_scales) {
    drawn.outlier_scale = scale;
    const Pspline spline = make_spline(simulate(drawn), WeibullSupport::above_one);
    Fitter fitter(spline.model,
                  fit_options(method, rank, settings_.start, settings_.iterations / 2, settings_.seed));
    const Vector fit = fitted_function(spline, run_engine(fitter, settings_.window, stop).posterior());
    if (without.size() == 0) without = fit;
    const FunctionError error = function_error(fit, grid());
    rmse.push_back(error.rmse);
    turning.push_back(error.at_turning_points);
    shift.push_back(root_mean_square(fit - without));
  }
  return {{"rmse", rmse}, {"turning", turning}, {"shift", shift}};
}

std::unique_ptr<Experiment> make_simulation(const ReproduceOptions& options) {
  SimulationSettings settings;
  if (options.thorough) {
    settings.repetitions = 30;
    settings.data_sets = 100;
  }
  settings.outlier_scale = options.outlier_scale;
  settings.noise_sd = options.noise_sd;
  settings.iterations = options.iterations.value_or(settings.iterations);
  if (options.repetitions) settings.repetitions = settings.data_sets = *options.repetitions;
  settings.seed = options.seed;
  return std::make_unique<Simulation>(settings);
}

}  // namespace magva::experiments
