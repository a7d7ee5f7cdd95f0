#pragma once
// What another shape than the Gaussian's may cure, and which of two verdicts is better.
#include <algorithm>
#include <vector>

#include "assess/doubts.hpp"
#include "magva/fit.hpp"

namespace magva {

/// Others, such as several modes, no shape cures, nor tails like a power: their sds come from where no draw
/// goes.
inline bool about_shape(WarningKind kind) {
  return kind == WarningKind::kKhat || kind == WarningKind::kFarFromGaussian ||
         kind == WarningKind::kReweighted;
}

inline bool only_about_shape(const std::vector<Warning>& warnings) {
  return std::all_of(warnings.begin(), warnings.end(),
                     [](const Warning& warning) { return about_shape(warning.kind); });
}

/// How bad a verdict is: not to be trusted, with doubts, or neither; and of two alike the larger doubt.
struct Verdict {
  int grade;
  double worst;

  Verdict(bool trusted, const std::vector<Warning>& warnings, const std::vector<Doubt>& doubts)
      : grade(!trusted           ? 2
              : warnings.empty() ? 0
                                 : 1),
        worst(0) {
    for (const Doubt& doubt : doubts) worst = std::max(worst, size_of(doubt));
  }
  bool worse_than(const Verdict& other) const {
    return grade != other.grade ? grade > other.grade : worst > other.worst;
  }
};

}  // namespace magva
