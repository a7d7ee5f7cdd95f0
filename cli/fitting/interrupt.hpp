#pragma once
// Ctrl-C, once: finish the iteration, save, say so. Twice: exit at once.

namespace magva::fitting {

/// While one lives, SIGINT and SIGTERM ask for a stop instead of ending the program; the second one ends it.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool asked();
};

}  // namespace magva::fitting
