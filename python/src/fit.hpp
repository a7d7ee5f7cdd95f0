#pragma once
// What can be fitted, and what comes out: the sources and records of the program, held in memory.
#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

#include "magva/fit_folder.hpp"
#include "magva/model_source.hpp"
#include "magva/posterior.hpp"
#include "options/values.hpp"

namespace magva::python {

namespace nb = nanobind;

/// How a fit is watched: `watch(phase, iteration, gradient_evaluations, seconds, elbo)` returns whether to go
/// on. It is asked for every view, or about twenty times a second.
struct Watching {
  nb::object watch;
  bool every_view = false;
};

class Fit {
 public:
  /// Runs the fit without Python's lock.
  static Fit run(const source::ModelSource& source, const options::Values& values, std::optional<Vector> init,
                 const Watching& watching);
  static Fit load(const std::string& folder);
  void save(const std::string& folder) const;

  /// Lets the model go: what was fitted can no longer be evaluated, as after `load`.
  void forget_model();

  const source::ModelSource& source() const { return source_; }
  const results::FitRecord& record() const { return record_; }
  const Gaussian& posterior() const { return posterior_; }
  const results::Trace& trace() const { return trace_; }

 private:
  Fit(source::ModelSource source, results::FitRecord record, Gaussian posterior, results::Trace trace)
      : source_(std::move(source)),
        record_(std::move(record)),
        posterior_(std::move(posterior)),
        trace_(std::move(trace)) {}

  source::ModelSource source_;
  results::FitRecord record_;
  Gaussian posterior_;
  results::Trace trace_;
};

}  // namespace magva::python
