#include "experiments/leukemia.hpp"

#include <fmt/format.h>

#include "magva/predict.hpp"

namespace magva::experiments {

namespace {

Regression make_model(const Design& design, const Vector& response, const LeukemiaCoordinates& coordinates,
                      double intercept_variance) {
  return logistic_regression({.design = design, .response = response, .weights = {}, .names = {}},
                             HorseshoeOptions{.form = coordinates.form,
                                              .intercept_variance = intercept_variance,
                                              .start_log_tau = coordinates.start_log_tau});
}

// Draws are made and used in batches: all of them at once would need more memory than the fit.
Vector mean_probabilities(const Regression& model, const Design& design, const Gaussian& posterior,
                          Index draws, std::uint64_t seed) {
  constexpr Index kBatch = 100;
  Vector sum = Vector::Zero(design.rows());
  for (Index first = 0; first < draws; first += kBatch) {
    const Index count = std::min(kBatch, draws - first);
    sum += static_cast<double>(count) *
           predictive_mean(model, design, posterior.draws(count, seed, static_cast<std::uint32_t>(first)));
  }
  return sum / static_cast<double>(draws);
}

Index errors(const Vector& probability, const Vector& response) {
  return ((probability.array() > .5) != (response.array() > .5)).count();
}

}  // namespace

Leukemia::Leukemia(const LeukemiaSettings& settings, LeukemiaData data)
    : settings_(settings),
      data_(std::move(data)),
      training_(Design::own(RowMatrix(data_.training_x))),
      test_(Design::own(RowMatrix(data_.test_x))) {
  for (const LeukemiaCoordinates& coordinates : settings_.coordinates)
    models_.push_back(make_model(training_, data_.training_y, coordinates, settings_.intercept_variance));
}

Json Leukemia::settings() const {
  return {{"experiment", name()},
          {"rank", settings_.rank},
          {"iterations", settings_.iterations},
          {"seed", settings_.seed},
          {"intercept_variance", settings_.intercept_variance},
          {"factor_scale", settings_.start.factor_scale},
          {"residual_scale", settings_.start.residual_scale},
          {"window", settings_.window},
          {"data", fmt::format("{} x {}, sum {:.6f}", data_.training_x.rows(), data_.training_x.cols(),
                               data_.training_x.sum() + data_.test_x.sum())}};
}

std::string Leukemia::key(const LeukemiaCoordinates& coordinates, const Method& method, Index repetition) {
  return fmt::format("{}/{}/{}", coordinates.id, method.id, repetition + 1);
}

std::vector<Run> Leukemia::runs() const {
  std::vector<Run> all;
  for (std::size_t c = 0; c < settings_.coordinates.size(); ++c)
    for (const Method& method : engine_methods())
      for (Index r = 0; r < settings_.repetitions; ++r)
        all.push_back({key(settings_.coordinates[c], method, r),
                       [this, c, method, r](const StopFlag& stop) { return run_fit(c, method, r, stop); }});
  return all;
}

Json Leukemia::run_fit(std::size_t coordinates, const Method& method, Index repetition,
                       const StopFlag& stop) const {
  const Regression& model = models_[coordinates];
  const auto seed = settings_.seed * 1000 + static_cast<std::uint64_t>(repetition);
  Fitter fitter(model, fit_options(method, settings_.rank, settings_.start, settings_.iterations, seed));
  const EngineRun run = run_engine(fitter, settings_.window, stop);
  const Gaussian& q = run.result.posterior;
  // Centred coefficients are Gaussian, and P(y = 1) > 1/2 exactly where their mean says so; others need
  // draws.
  const auto wrong = [&](const Design& design, const Vector& response) {
    return errors(settings_.coordinates[coordinates].form == HorseshoeForm::centred
                      ? predictive_mean(model, design, q.mean())
                      : mean_probabilities(model, design, q, settings_.predictive_draws, seed),
                  response);
  };
  return {{"training", {wrong(training_, data_.training_y), data_.training_y.size()}},
          {"test", {wrong(test_, data_.test_y), data_.test_y.size()}},
          {"elbo", score(model, q, 200, seed).elbo},
          {"seconds", run.seconds},
          {"stopped", to_string(run.result.stopped)},
          {"factor_share", factor_share(run.result.posterior)},
          {"curve", run.curve.elbo}};
}

std::unique_ptr<Experiment> make_leukemia(const ReproduceOptions& options) {
  LeukemiaSettings settings;
  settings.iterations = options.iterations.value_or(settings.iterations);
  settings.repetitions = options.repetitions.value_or(settings.repetitions);
  settings.seed = options.seed;
  return std::make_unique<Leukemia>(settings, read_leukemia(options.data));
}

}  // namespace magva::experiments
