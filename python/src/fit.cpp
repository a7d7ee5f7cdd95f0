#include "fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <limits>

#include "density.hpp"
#include "fitting/run.hpp"
#include "magva/error.hpp"
#include "results/sd_record.hpp"

namespace magva::python {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kAskEvery = std::chrono::milliseconds(50);

/// Keeps the trace, and asks Python now and then whether to go on: signals are seen there, too.
class Observation {
 public:
  explicit Observation(const Watching& watching) : watching_(watching) {}

  bool operator()(const FitView& view) {
    const bool iterates = view.phase == Phase::kIterations || view.phase == Phase::kRefinement;
    if (iterates && view.iteration != last_) {
      trace_.add(view);
      last_ = view.iteration;
    }
    if (!watching_.every_view && Clock::now() < next_) return true;
    next_ = Clock::now() + kAskEvery;
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return nb::cast<bool>(watching_.watch(to_string(view.phase), view.iteration, view.gradient_evaluations,
                                          view.seconds, view.elbo));
  }

  const results::Trace& trace() const { return trace_; }

 private:
  const Watching& watching_;
  results::Trace trace_;
  std::int64_t last_ = -1;
  Clock::time_point next_ = Clock::now() + kAskEvery;
};

void check_options(const options::Values& values, Index dimension) {
  const auto invalid = fitting::invalid_options(values, dimension);
  if (!invalid.empty()) throw UsageError(fmt::format("{}", fmt::join(invalid, "; ")));
}

source::ModelSource stored_source(const results::StoredFit& fit) {
  source::ModelSource source;
  source.model = std::make_shared<StoredCoordinates>(fit.names);
  if (fit.spec)
    source.reporter = source::make_reporter(*fit.spec);
  else
    source.reporter = source::make_coordinate_reporter(fit.names);
  source.spec = fit.spec;
  source.start = Vector::Zero(source.model->dimension());
  source.description = fit.record.model;
  source.data = fit.record.data;
  return source;
}

}  // namespace

Fit Fit::run(const source::ModelSource& source, const options::Values& values, std::optional<Vector> init,
             const Watching& watching) {
  const nb::gil_scoped_release unlocked;
  const Index dimension = source.model->dimension();
  check_options(values, dimension);
  FitOptions options = fitting::fit_options(values, dimension);
  options.init = std::move(init);
  results::FitRecord record = results::begin_record(source);
  record.options = values.to_json();
  Observation observation(watching);
  const auto sd_names = fitting::parameters_asked_for(values, source);
  FitResult result = source::fit(source, options, {std::ref(observation)});
  const SdCorrection sds = correct_sds(*source.model, result, sd_names, options, {std::ref(observation)});
  results::complete_record(record, source, result, options.seed);
  results::add_sd_correction(sds, *source.reporter, record);
  return {source, std::move(record), result.posterior, observation.trace()};
}

Fit Fit::load(const std::string& folder) {
  const results::StoredFit stored = results::load_fit(folder);
  return {stored_source(stored), stored.record, stored.posterior,
          results::Trace::read(stored.folder.trace())};
}

void Fit::forget_model() {
  std::vector<std::string> names;
  for (Index i = 0; i < source_.model->dimension(); ++i) names.push_back(source_.model->parameter_name(i));
  source_.model = std::make_shared<StoredCoordinates>(std::move(names));
  source_.minibatch.reset();
}

void Fit::save(const std::string& path) const {
  results::save_fit(path, record_, posterior_, source_, trace_);
}

}  // namespace magva::python
