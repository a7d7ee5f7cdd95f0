#include "experiments/simulation.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <random>

namespace magva::experiments {

namespace {

Pspline make_spline(const SimulatedData& data) {
  PsplineOptions options;
  options.lower = 0;
  options.upper = 1;
  return pspline_regression(data.x, data.y, Vector(), options);
}

std::vector<double> list(const Vector& values) { return {values.begin(), values.end()}; }

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

Simulation::Simulation(const SimulationSettings& settings)
    : settings_(settings), data_(simulate(settings)), spline_(make_spline(data_)) {}

Json Simulation::settings() const {
  return {{"experiment", name()},
          {"samples", settings_.samples},
          {"outlier_scale", settings_.outlier_scale},
          {"noise_sd", settings_.noise_sd},
          {"iterations", settings_.iterations},
          {"fit_after", settings_.fit_after},
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

std::vector<Method> Simulation::methods_on(FamilyKind manifold) {
  std::vector<Method> methods = rules_on(manifold);
  if (manifold != FamilyKind::kFixedRank) methods.push_back(settled(manifold));
  return methods;
}

std::string Simulation::key(const Method& method, Index rank, Index repetition) {
  return fmt::format("{}/{}/{}", method.id, rank, repetition + 1);
}

Vector Simulation::grid() { return Vector::LinSpaced(201, 0, 1); }

std::vector<Run> Simulation::runs() const {
  std::vector<Run> all;
  const auto add = [&](const Method& method, Index rank) {
    for (Index r = 0; r < settings_.repetitions; ++r)
      all.push_back({key(method, rank, r), [this, method, rank, r](const StopFlag& stop) {
                       return run_fit(method, rank, r, stop);
                     }});
  };
  add(mean_field(), 0);
  for (const FamilyKind manifold : manifolds())
    for (const Method& method : methods_on(manifold))
      for (const Index rank : settings_.ranks) add(method, rank);
  return all;
}

Json Simulation::run_fit(const Method& method, Index rank, Index repetition, const StopFlag& stop) const {
  const auto seed = settings_.seed * 1000 + static_cast<std::uint64_t>(repetition);
  const Model& model = spline_.model;
  const auto fit = [&](std::int64_t iterations) {
    Fitter fitter(model, fit_options(method, rank, settings_.start, iterations, seed));
    return run_engine(fitter, settings_.window, stop);
  };
  const EngineRun run = fit(settings_.iterations);
  Json out{{"elbo", score(model, run.result.posterior, settings_.scoring_draws, seed).elbo},
           {"seconds", run.seconds},
           {"stopped", to_string(run.result.stopped)},
           {"factor_share", factor_share(run.result.posterior)},
           {"curve", run.curve.elbo}};
  if (repetition == 0) {
    // The same seed takes the same path: a shorter run is the longer one's beginning.
    const Vector mean = fit(std::min(settings_.fit_after, settings_.iterations)).result.posterior.mean();
    out["fit"] = list(spline_.basis(grid()) * mean.head(spline_.basis.functions()));
  }
  return out;
}

std::unique_ptr<Experiment> make_simulation(const ReproduceOptions& options) {
  SimulationSettings settings;
  settings.outlier_scale = options.outlier_scale;
  settings.noise_sd = options.noise_sd;
  settings.iterations = options.iterations.value_or(settings.iterations);
  settings.repetitions = options.repetitions.value_or(settings.repetitions);
  settings.seed = options.seed;
  return std::make_unique<Simulation>(settings);
}

}  // namespace magva::experiments
