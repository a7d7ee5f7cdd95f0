#pragma once
// The one place that decides how far a fit can be trusted.
#include <limits>

#include "core/evaluator.hpp"
#include "magva/diagnostics.hpp"
#include "magva/fit.hpp"

namespace magva {

/// How a fit ended.
struct FitEnding {
  StopReason stopped;
  std::string detail;
  bool finished;        ///< as a fit of its kind should: nothing cut it short
  bool claims_optimum;  ///< it says that no Gaussian of its family is better
};

struct AssessmentOptions {
  Index draws = 4000;
  std::uint64_t seed = 1;
  const Quantities* quantities = nullptr;  ///< null: the coordinates of theta
  std::optional<ElboEstimate> estimate;    ///< with these draws and seed + 1, where it is known already
  bool probe_tails = true;                 ///< false where they are known to be light
  bool probe_marginals = true;             ///< false where none can be far off
  bool log_concave = false;                ///< the log density is concave
  /// Largest |log| by which linear response changes an sd of the best full-rank Gaussian; NaN: not known.
  double response = std::numeric_limits<double>::quiet_NaN();
};

struct Assessment {
  FitEnding ending{};  ///< as given, or how the assessment itself was cut short
  double elbo = 0;
  double elbo_se = 0;
  double khat = 0;
  bool correction_holds = true;  ///< of a Gaussian with one: it is nearer to the posterior
  bool trusted = true;
  std::vector<Doubt> doubts;
  std::vector<Warning> warnings;

  void warn(WarningKind kind, std::string message) { warnings.push_back({kind, std::move(message)}); }
  void distrust(WarningKind kind, std::string message) {
    trusted = false;
    warn(kind, std::move(message));
  }
};

/// ELBO, k-hat and tails of q for the evaluator's model, or of its correction, which summaries are about, if
/// it has one (such a fit knows its ELBO without draws); and what they and the fit's ending mean. A fit that
/// was stopped early is assessed in a hurry: by few draws, within a fraction of a second.
Assessment assess(Evaluator& evaluator, const Gaussian& q, FitEnding ending,
                  const AssessmentOptions& options);

/// The same; if the correction of q is found to be no nearer to the posterior than what it corrects, q loses
/// it and is assessed without it.
Assessment assess_correction(Evaluator& evaluator, Gaussian& q, const FitEnding& ending,
                             AssessmentOptions options);

}  // namespace magva
