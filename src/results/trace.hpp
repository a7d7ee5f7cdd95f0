#pragma once
// trace.csv: how the ELBO rose. Long runs are thinned: a row stands for the iterations since the row before
// it, its elbo is their mean.
#include <cstdint>
#include <filesystem>
#include <vector>

#include "magva/fit.hpp"

namespace magva::results {

struct TraceRow {
  std::int64_t iteration;
  std::int64_t gradient_evaluations;
  double seconds;
  double elbo;
};

class Trace {
 public:
  static constexpr std::int64_t kMostRows = 10'000;

  /// For a run of at most this many iterations.
  explicit Trace(std::int64_t iterations) : stride_((iterations + kMostRows - 1) / kMostRows) {}

  void add(const FitView& view);
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
  TraceRow current_{};
  std::int64_t pending_ = 0;  ///< iterations in the row that has not ended
  std::int64_t finite_ = 0;   ///< those of them with an ELBO
};

}  // namespace magva::results
