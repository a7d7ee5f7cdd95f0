#include "experiments/leukemia.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "magva/predict.hpp"

namespace magva::experiments {

namespace {

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

std::vector<Index> wrong(const Vector& probability, const Vector& response) {
  std::vector<Index> out;
  for (Index i = 0; i < response.size(); ++i)
    if ((probability(i) > .5) != (response(i) > .5)) out.push_back(i + 1);
  return out;
}

}  // namespace

std::vector<Method> Leukemia::followed_methods() {
  return {mean_field(), rules_on(FamilyKind::kStiefel)[2], rules_on(FamilyKind::kGrassmann)[2]};
}

const std::vector<LeukemiaVariant>& Leukemia::variants() {
  constexpr auto noncentred = HorseshoeForm::noncentred;
  constexpr auto published = Standardisation::all_samples;
  static const std::vector<LeukemiaVariant> all{
      {"from-2", "non-centred, log tau from 2", noncentred, 2, published, table_methods(), 4},
      {"from-1", "non-centred, log tau from 1", noncentred, 1, published, followed_methods(), 4},
      {"from-0", "non-centred, log tau from 0", noncentred, 0, published, followed_methods(), 4},
      {"training", "non-centred, log tau from 2, standardised by the training samples", noncentred, 2,
       Standardisation::training_samples, table_methods(), 1},
      {"centred", "centred, log tau from -7", HorseshoeForm::centred, -7, published, followed_methods(), 1}};
  return all;
}

Leukemia::Leukemia(const LeukemiaSettings& settings, LeukemiaData data)
    : settings_(settings),
      data_(std::move(data)),
      published_{Design::own(RowMatrix(data_.training_x)), Design::own(RowMatrix(data_.test_x))},
      by_training_([&] {
        LeukemiaData other = standardised_by_training(data_);
        return Samples{Design::own(std::move(other.training_x)), Design::own(std::move(other.test_x))};
      }()) {}

Json Leukemia::settings() const {
  return {{"experiment", name()},
          {"rank", settings_.rank},
          {"iterations", settings_.iterations},
          {"seed", settings_.seed},
          {"intercept_variance", settings_.intercept_variance},
          {"factor_scale", settings_.start.factor_scale},
          {"residual_scale", settings_.start.residual_scale},
          {"window", settings_.window},
          {"predictive_draws", settings_.predictive_draws},
          {"data", fmt::format("{} x {}, sum {:.6f}", data_.training_x.rows(), data_.training_x.cols(),
                               data_.training_x.sum() + data_.test_x.sum())}};
}

std::string Leukemia::key(const LeukemiaVariant& variant, const Method& method, Index repetition) {
  return fmt::format("{}/{}/{}", variant.id, method.id, repetition + 1);
}

std::string Leukemia::default_key(Standardisation standardisation) {
  return standardisation == Standardisation::all_samples ? "default/all-samples" : "default/training-samples";
}

std::vector<std::int64_t> Leukemia::checkpoints(const LeukemiaVariant& variant, const Method& method) const {
  const auto followed = followed_methods();
  const bool to_the_end = std::any_of(followed.begin(), followed.end(),
                                      [&](const Method& other) { return other.id == method.id; });
  const double longest = to_the_end ? variant.longest : std::min(variant.longest, 1.5);
  std::vector<std::int64_t> out;
  for (const double share : {.2, .5, 1., 1.5, 2., 3., 4.})
    if (share <= longest) out.push_back(std::llround(share * static_cast<double>(settings_.iterations)));
  return out;
}

std::vector<Run> Leukemia::runs() const {
  std::vector<Run> all;
  // The longest first, so that no thread waits for them at the end.
  for (const Standardisation standardisation : settings_.default_fits)
    all.push_back(
        {default_key(standardisation),
         [this, standardisation](const StopFlag& stop) { return run_default(standardisation, stop); },
         200'000});
  for (const LeukemiaVariant& variant : variants())
    for (const Method& method : variant.methods)
      for (Index r = 0; r < settings_.repetitions; ++r)
        all.push_back(
            {key(variant, method, r),
             [this, &variant, method, r](const StopFlag& stop) { return run_fit(variant, method, r, stop); },
             static_cast<double>(checkpoints(variant, method).back())});
  return all;
}

double Leukemia::seconds_per_evaluation() const {
  return experiments::seconds_per_evaluation(
      model(variants().front()),
      fit_options(rules_on(FamilyKind::kStiefel)[2], settings_.rank, settings_.start, 1, settings_.seed));
}

const Leukemia::Samples& Leukemia::samples(Standardisation standardisation) const {
  return standardisation == Standardisation::all_samples ? published_ : by_training_;
}

Regression Leukemia::model(const LeukemiaVariant& variant) const {
  return logistic_regression({.design = samples(variant.standardisation).training,
                              .response = data_.training_y,
                              .weights = {},
                              .names = {}},
                             HorseshoeOptions{.form = variant.form,
                                              .intercept_variance = settings_.intercept_variance,
                                              .start_log_tau = variant.start_log_tau});
}

Json Leukemia::wrong_samples(const Regression& model, HorseshoeForm form, const Samples& samples,
                             const Gaussian& posterior, std::uint64_t seed) const {
  // Centred coefficients are Gaussian, and P(y = 1) > 1/2 exactly where their mean says so; others need
  // draws.
  const auto probability = [&](const Design& design) {
    return form == HorseshoeForm::centred
               ? predictive_mean(model, design, posterior.mean())
               : mean_probabilities(model, design, posterior, settings_.predictive_draws, seed);
  };
  return {{"training", wrong(probability(samples.training), data_.training_y)},
          {"test", wrong(probability(samples.test), data_.test_y)}};
}

Json Leukemia::run_fit(const LeukemiaVariant& variant, const Method& method, Index repetition,
                       const StopFlag& stop) const {
  const Regression regression = model(variant);
  const auto seed = settings_.seed * 1000 + static_cast<std::uint64_t>(repetition);
  const auto at = checkpoints(variant, method);
  Fitter fitter(regression, fit_options(method, settings_.rank, settings_.start, at.back(), seed));
  const EngineRun run = run_engine(fitter, settings_.window, stop, at);
  Json snapshots = Json::array();
  for (const Snapshot& snapshot : run.snapshots) {
    const Gaussian& q = snapshot.posterior;
    Json entry = wrong_samples(regression, variant.form, samples(variant.standardisation), q, seed);
    entry["iteration"] = snapshot.iteration;
    entry["elbo"] = score(regression, q, settings_.scoring_draws, seed).elbo;
    entry["log_tau"] = q.mean()(q.dimension() - 1);
    entry["seconds"] = snapshot.seconds;
    snapshots.push_back(std::move(entry));
    if (stop()) throw Interrupted();
  }
  return {{"at", std::move(snapshots)},
          {"seconds_per_iteration", run.seconds / static_cast<double>(at.back())},
          {"stopped", to_string(run.stopped)},
          {"rejected_draws", run.rejected_draws},
          {"factor_share", factor_share(run.posterior())},
          {"curve", run.curve.elbo}};
}

Json Leukemia::run_default(Standardisation standardisation, const StopFlag& stop) const {
  LeukemiaVariant variant = variants().front();
  variant.standardisation = standardisation;
  const Regression regression = model(variant);
  // Enough to converge with the paper's iterations; with few, the default is as brief as the rest.
  const DefaultFit fit =
      default_fit(regression, std::nullopt, settings_.seed, 50 * settings_.iterations, stop);
  Json out = wrong_samples(regression, variant.form, samples(standardisation), fit.posterior, settings_.seed);
  out["elbo"] = fit.elbo;
  out["log_tau"] = fit.posterior.mean()(fit.posterior.dimension() - 1);
  out["seconds"] = fit.seconds;
  out["detail"] = fit.detail;
  return out;
}

std::unique_ptr<Experiment> make_leukemia(const ReproduceOptions& options) {
  LeukemiaSettings settings;
  if (options.thorough) {
    settings.repetitions = 10;
    settings.default_fits.push_back(Standardisation::training_samples);
  }
  settings.iterations = options.iterations.value_or(settings.iterations);
  settings.repetitions = options.repetitions.value_or(settings.repetitions);
  settings.seed = options.seed;
  return std::make_unique<Leukemia>(settings, read_leukemia(options.data));
}

}  // namespace magva::experiments
