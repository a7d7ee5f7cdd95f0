#pragma once
// Algorithm 1 of the paper: noise -> family.draw -> model -> family.gradient -> rule on each block's
// manifold.
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "algorithm1/options.hpp"
#include "core/checksummed_file.hpp"
#include "core/noise.hpp"
#include "magva/fit.hpp"

namespace magva {

/// Coordinates theta = centre + scale o phi in which the family lives.
struct Whitening {
  Vector centre;
  Vector scale;
  static Whitening none(Index dimension) { return {Vector::Zero(dimension), Vector::Ones(dimension)}; }
};

/// What an observer sees after each iteration.
struct IterationView {
  std::int64_t iteration;             ///< 1 after the first
  std::int64_t gradient_evaluations;  ///< draws evaluated so far
  double seconds;
  double elbo;  ///< estimate from this iteration's draws; NaN if all were rejected
};

/// Called after each iteration; false stops the fit. Trace, progress, checkpoint and interrupt are observers.
using IterationObserver = std::function<bool(const IterationView&)>;

struct FitterResult {
  Gaussian posterior;  ///< of theta
  StopReason stopped;
  std::string stop_detail;  ///< why, in a sentence
  std::int64_t iterations;
  std::int64_t gradient_evaluations;
  std::int64_t rejected_draws;  ///< draws whose log density or gradient was not finite
  double seconds;
};

class Fitter {
 public:
  /// Throws UsageError with every fault of the options. The model must outlive the fitter.
  Fitter(const Model& model, const FitterOptions& options);
  Fitter(const Model& model, const FitterOptions& options, const Whitening& whitening, ConstVectorRef start);
  ~Fitter();
  Fitter(Fitter&&) noexcept;
  Fitter& operator=(Fitter&&) noexcept;

  /// One iteration. Allocates nothing.
  IterationView step();
  /// Steps until a limit, an observer or divergence ends the run; can be called again.
  FitterResult run(const std::vector<IterationObserver>& observers = {});
  /// The result as it stands.
  FitterResult result(StopReason reason, std::string stop_detail) const;

  /// Multiplies all steps from here on; for drivers with schedules of their own.
  void set_step_scale(double scale);
  /// The blocks may be changed between iterations, for starts and restarts. Ask for it after the last step:
  /// the next draws may have been made already, and are made anew then.
  Family& family();
  const FitterOptions& options() const;
  const Whitening& whitening() const;
  std::int64_t iteration() const;
  double seconds() const;  ///< with those of the runs that were resumed

  void save(io::ChecksummedWriter& out) const;
  /// Continues a saved run: to the same bits as one that was not interrupted. DataError if the file does not
  /// belong to this model.
  static Fitter resume(io::ChecksummedReader& in, const Model& model, int threads = 1);

 private:
  struct State;
  explicit Fitter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace magva
