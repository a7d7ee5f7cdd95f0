#pragma once
// The folder of a fit: fit.json (what was asked for, what came out, how far to trust it), trace.csv, the
// posterior, and the model without its data.
#include <cstdint>
#include <filesystem>
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
  /// Whether the last iteration ended a row: then all that was added is in the rows.
  bool at_row_end() const { return pending_ == 0; }
  const std::vector<TraceRow>& rows() const { return rows_; }

  void save(const std::filesystem::path& path) const;
  /// Takes back the rows of an earlier run up to an iteration.
  void restore(const std::filesystem::path& path, std::int64_t up_to);

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
};

/// fit.json.
struct FitRecord {
  std::string version;
  std::string model;        ///< in words
  std::string stopped;      ///< 'converged', 'iteration limit', ...; 'running' while the fit is under way
  std::string stop_detail;  ///< why, in a sentence
  std::optional<bool> trusted;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;
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

  bool running() const { return stopped == kRunning; }
  static constexpr const char* kRunning = "running";
};

/// Of a fit that is about to run.
FitRecord begin_record(const source::ModelSource& source);
/// How it ended, with the parameters on the user's scale: coordinates of theta have exact Gaussian marginals,
/// everything else is summarised from draws with this seed.
void complete_record(FitRecord& record, const source::ModelSource& source, const FitResult& result,
                     std::uint64_t seed);

void save(const FitRecord& record, const std::filesystem::path& path);
/// IoError or DataError if there is no such record.
FitRecord load_record(const std::filesystem::path& path);
/// Whether a file that can be read is such a record at all.
bool is_fit_record(const std::filesystem::path& path);

class FitFolder {
 public:
  /// For a new fit: makes the folder if there is none, and takes one that is empty or holds an earlier fit.
  /// Throws IoError if it cannot be written, UsageError if it holds something else.
  static FitFolder create(const std::filesystem::path& path);
  /// Of an earlier fit; IoError if there is none.
  static FitFolder open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path record() const { return path_ / "fit.json"; }
  std::filesystem::path trace() const { return path_ / "trace.csv"; }
  std::filesystem::path posterior() const { return path_ / "posterior.magva"; }
  std::filesystem::path model() const { return path_ / "model.json"; }  ///< what prediction needs
  std::filesystem::path checkpoint() const { return path_ / "checkpoint.magva"; }
  bool has_checkpoint() const;

  /// Removes what an earlier fit left.
  void clear() const;
  /// Takes the files of a fit away again, and the folder, if `create` made it.
  void abandon() const;

 private:
  FitFolder(std::filesystem::path path, bool made) : path_(std::move(path)), made_(made) {}
  std::filesystem::path path_;
  bool made_;
};

/// Writes all files of a fit; fit.json last, so that a folder whose record says how the fit ended is whole.
void store_fit(const FitFolder& folder, const FitRecord& record, const Gaussian& posterior,
               const source::ModelSource& source, const Trace& trace = Trace());

/// All of it for a fit that was run: makes the folder, or takes one that is empty or holds an earlier fit.
FitFolder save_fit(const std::filesystem::path& path, const source::ModelSource& source,
                   const FitResult& result, std::uint64_t seed = 1);

/// A fit as it is read again.
struct StoredFit {
  FitFolder folder;
  FitRecord record;
  Gaussian posterior;
  std::vector<std::string> names;         ///< of the coordinates
  std::optional<source::ModelSpec> spec;  ///< of a regression: what prediction needs
};

/// IoError or DataError if there is no whole fit.
StoredFit load_fit(const std::filesystem::path& path);

}  // namespace magva::results
