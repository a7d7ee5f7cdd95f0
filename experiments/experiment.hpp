#pragma once
// What the paper's three experiments have in common: settings, independent runs, and what is written from
// their results.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/journal.hpp"
#include "experiments/schedule.hpp"
#include "magva/error.hpp"

namespace magva::experiments {

/// What the user may change; unset: each experiment's own number, more of it if thorough.
struct ReproduceOptions {
  std::filesystem::path out = "results";
  bool thorough = false;  ///< the repetitions behind the quoted figures
  std::optional<Index> repetitions;
  std::optional<std::int64_t> iterations;
  int threads = 1;
  std::uint64_t seed = 1;
  std::filesystem::path folds;  ///< of the ionosphere rows; empty: stratified, from the seed
  std::filesystem::path
      data;  ///< folder with data files; empty: MAGVA_DATA, then those that come with the program
  double outlier_scale = 5;  ///< the simulation's a
  double noise_sd = 1;       ///< the simulation's sigma

  std::vector<std::string> validate() const;
};

/// Data that an experiment needs are not on this machine: the other experiments can go on.
class MissingData : public IoError {
 public:
  using IoError::IoError;
};

class Experiment {
 public:
  virtual ~Experiment() = default;
  virtual std::string name() const = 0;
  /// Everything on which the result of a run depends.
  virtual Json settings() const = 0;
  virtual std::vector<Run> runs() const = 0;
  /// Processor seconds of one gradient evaluation on this machine, timed now: what a run's cost is in.
  virtual double seconds_per_evaluation() const = 0;
  /// Tables, figures, claims and section.html, the experiment's part of the report. Returns sentences for the
  /// user.
  virtual std::vector<std::string> write(const Journal& journal,
                                         const std::filesystem::path& folder) const = 0;
};

/// simulation, ionosphere, leukemia.
const std::vector<std::string>& experiment_names();
/// Reads the data. IoError or DataError where they are not there or cannot be used.
std::unique_ptr<Experiment> make_experiment(const std::string& name, const ReproduceOptions& options);

std::unique_ptr<Experiment> make_simulation(const ReproduceOptions& options);
std::unique_ptr<Experiment> make_ionosphere(const ReproduceOptions& options);
std::unique_ptr<Experiment> make_leukemia(const ReproduceOptions& options);

}  // namespace magva::experiments
