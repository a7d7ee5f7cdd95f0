#pragma once
// The folder of a fit: fit.json (what was asked for, what came out, how far to trust it), trace.csv, the
// posterior, and the model without its data. The folder is one thing: fit.json ends with a checksum of itself
// and names those of the other files, so that a file that was edited, damaged or taken from another fit is
// refused by its name.
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "magva/fit.hpp"
#include "magva/model_source.hpp"
#include "magva/posterior.hpp"

namespace magva::results {

using Json = nlohmann::ordered_json;

struct TraceRow {
  std::int64_t iteration = 0;
  std::int64_t gradient_evaluations = 0;
  double seconds = 0;
  double elbo = 0;  ///< noisy estimate; NaN if there is none
};

/// How the ELBO rose. Long runs are thinned: a row stands for the iterations since the row before it, its
/// elbo is their mean.
class Trace {
 public:
  static constexpr std::int64_t kMostRows = 10'000;

  /// For a run of at most this many iterations.
  explicit Trace(std::int64_t iterations = kMostRows) : stride_((iterations + kMostRows - 1) / kMostRows) {}

  void add(const FitView& iteration);
  const std::vector<TraceRow>& rows() const { return rows_; }
  /// The last one that was added; -1 if there was none.
  std::int64_t last_iteration() const;

  void save(const std::filesystem::path& path) const;
  /// Of a file that save() wrote. Throws DataError.
  static Trace read(const std::filesystem::path& path);

  /// All of it, for a checkpoint, and back again: numbers keep their bits. Throws DataError.
  std::string to_bytes() const;
  void restore(const std::string& bytes);

 private:
  void end_row();

  std::int64_t stride_;
  std::vector<TraceRow> rows_;
  TraceRow current_;
  std::int64_t pending_ = 0;  ///< iterations in the row that has not ended
  std::int64_t finite_ = 0;   ///< those of them with an ELBO
};

struct ParameterSummary {
  std::string name;
  double mean, sd, q05, q50, q95;
  double sd_gaussian = std::numeric_limits<double>::quiet_NaN();  ///< of the fitted Gaussian itself
  /// Standard error of log sd, where the sd is a stochastic estimate; NaN where it is none.
  double sd_se = std::numeric_limits<double>::quiet_NaN();
};

/// fit.json.
struct FitRecord {
  std::string version;
  std::string model;        ///< in words
  std::string stopped;      ///< 'converged', 'iteration limit', ...; 'running' while the fit is under way
  std::string stop_detail;  ///< why, in a sentence
  std::optional<bool> trusted;
  std::vector<std::string> warnings;  ///< about the posterior
  std::vector<Doubt> doubts;          ///< the parameters that they are about
  std::vector<std::string> notes;     ///< about the data and the model
  std::optional<double> elbo, elbo_se, khat;
  std::int64_t iterations = 0;
  std::int64_t gradient_evaluations = 0;
  std::int64_t rejected_draws = 0;
  double seconds = 0;
  std::string family;
  Index rank = 0;
  std::vector<double> factor_shares;   ///< of the total variance of theta
  Json details = Json::object();       ///< of the optimiser: the path of ranks, the starts
  std::vector<std::string> arguments;  ///< of the command line
  Json options = Json::object();       ///< of the command line
  source::DataRecord data;
  std::vector<ParameterSummary> parameters;
  std::map<std::string, std::string> files;  ///< the fit's other files and their SHA-256

  bool running() const { return stopped == kRunning; }
  static constexpr const char* kRunning = "running";
};

/// Of a fit that is about to run.
FitRecord begin_record(const source::ModelSource& source);
/// How it ended, with the parameters on the user's scale, by the best posterior: coordinates of a Gaussian
/// theta have exact marginals, everything else is summarised from draws with this seed.
void complete_record(FitRecord& record, const source::ModelSource& source, const FitResult& result,
                     std::uint64_t seed);

void save(const FitRecord& record, const std::filesystem::path& path);
/// IoError if it cannot be read, DataError if it is not as it was written.
FitRecord load_record(const std::filesystem::path& path);
/// Whether a file is such a record, whole or not.
bool is_fit_record(const std::filesystem::path& path);

class FitFolder {
 public:
  /// Of a fit that has ended. Throws IoError if there is none, DataError if there is one that has not ended.
  static FitFolder open(const std::filesystem::path& path);
  /// Of any folder, whether it holds a fit or not.
  explicit FitFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path record() const { return path_ / "fit.json"; }
  std::filesystem::path trace() const { return path_ / "trace.csv"; }
  std::filesystem::path posterior() const { return path_ / "posterior.magva"; }
  std::filesystem::path model() const { return path_ / "model.json"; }  ///< what prediction needs
  std::filesystem::path checkpoint() const { return path_ / "checkpoint.magva"; }
  bool has_checkpoint() const;
  /// Whether there is a fit here, whole or not.
  bool holds_a_fit() const;

 private:
  std::filesystem::path path_;
};

/// Whether a path, which need not exist, is that of a file which belongs to the fit in its folder.
bool is_file_of_fit(const std::filesystem::path& path);

/// Writes all files of a fit; fit.json last, so that a folder whose record says how the fit ended is whole.
void store_fit(const FitFolder& folder, FitRecord record, const Gaussian& posterior,
               const source::ModelSource& source, const Trace& trace = Trace());

/// All of it for a fit that was run: makes the folder, or replaces an earlier fit, in one step. Throws
/// IoError if that cannot be done, UsageError if the folder holds something else.
FitFolder save_fit(const std::filesystem::path& path, const source::ModelSource& source,
                   const FitResult& result, std::uint64_t seed = 1);
/// The same with a record and a trace that are there already.
FitFolder save_fit(const std::filesystem::path& path, FitRecord record, const Gaussian& posterior,
                   const source::ModelSource& source, const Trace& trace);

/// The record of a fit that has ended. DataError if any file of the folder is not as it was written.
FitRecord checked_record(const FitFolder& folder);

/// A fit as it is read again.
struct StoredFit {
  FitFolder folder;
  FitRecord record;
  Gaussian posterior;
  std::vector<std::string> names;         ///< of the coordinates
  std::optional<source::ModelSpec> spec;  ///< of a regression: what prediction needs
};

/// IoError or DataError if there is no whole fit, with every file as it was written.
StoredFit load_fit(const std::filesystem::path& path);

}  // namespace magva::results
