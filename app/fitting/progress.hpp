#pragma once
// How a fit is shown while it runs, on standard error: a bar on a terminal, plain lines elsewhere, or
// nothing.
#include <cstdint>
#include <memory>
#include <string>

#include "magva/fit.hpp"

namespace magva::fitting {

class Progress {
 public:
  virtual ~Progress() = default;
  /// After every iteration; `most` is the number of iterations after which the fit ends at the latest.
  virtual void show(const IterationView& view, std::int64_t most) = 0;
  /// A sentence in between.
  virtual void say(const std::string& sentence) = 0;
  /// Takes the bar away.
  virtual void finish() = 0;
};

std::unique_ptr<Progress> make_progress(bool quiet);

}  // namespace magva::fitting
