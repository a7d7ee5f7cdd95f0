#pragma once
// The checkpoints of one run of fit(): when they are due, and what heads the file.
#include "core/archive.hpp"
#include "magva/fit.hpp"

namespace magva {

class Checkpoints {
 public:
  using Write = std::function<void(io::ChecksummedWriter&)>;
  using Read = std::function<void(io::ChecksummedReader&)>;

  /// `way`: of fitting, for which a checkpoint of another way is of no use.
  Checkpoints(const std::optional<CheckpointOptions>& options, std::string way)
      : options_(options), way_(std::move(way)) {}

  /// Whether the run is to go on from a checkpoint.
  bool resumes() const { return options_ && options_->resume; }
  /// Throws IoError or DataError if it cannot be used.
  void load(const Read& read) const;

  void save(const Write& write) const;
  /// After so many seconds of the fit.
  void save_when_due(double seconds, const Write& write);

 private:
  const std::optional<CheckpointOptions>& options_;
  std::string way_;
  std::optional<double> next_;
};

}  // namespace magva
