#pragma once
// How a fit is shown while it runs, on standard error: a bar on a terminal, plain lines elsewhere, or
// nothing.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "magva/fit.hpp"

namespace magva::fitting {

/// How far a fit is: `done` of `most` things, which `name` counts. A fit that ends as soon as it has
/// converged knows no `most` that would tell how long it takes.
struct Stage {
  std::string name;
  std::int64_t done = 0;
  std::optional<std::int64_t> most;
  bool certain = false;  ///< it ends at `most`, not at the latest there
};

class Progress {
 public:
  virtual ~Progress() = default;
  /// After every iteration.
  virtual void show(const FitView& view, const Stage& stage) = 0;
  /// A sentence in between.
  virtual void say(const std::string& sentence) = 0;
  /// Takes the bar away.
  virtual void finish() = 0;
};

std::unique_ptr<Progress> make_progress(bool quiet);

}  // namespace magva::fitting
