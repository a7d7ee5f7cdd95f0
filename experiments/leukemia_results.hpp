#pragma once
// What the finished runs of the leukemia experiment say.
#include "experiments/claims.hpp"
#include "experiments/leukemia.hpp"
#include "experiments/statistics.hpp"

namespace magva::experiments {

/// Fits of one method as they stood at one iteration.
struct LeukemiaOutcome {
  std::vector<double> training, test;  ///< errors, one per repetition
  std::vector<double> aml_called_all;  ///< of the test errors
  std::vector<std::vector<Index>> wrong_test_samples;
  MeanSd elbo, log_tau, seconds;
};

class LeukemiaResults {
 public:
  LeukemiaResults(const Leukemia& experiment, const Journal& journal)
      : experiment_(experiment), journal_(journal) {}

  const Leukemia& experiment() const { return experiment_; }
  const LeukemiaSettings& settings() const { return experiment_.config(); }
  const Json& run(const LeukemiaVariant& variant, const Method& method, Index repetition) const;
  LeukemiaOutcome outcome(const LeukemiaVariant& variant, const Method& method, std::int64_t iteration) const;
  /// Test samples that every one of the methods gets wrong in every repetition.
  std::vector<Index> wrong_for_all(const LeukemiaVariant& variant, const std::vector<Method>& methods,
                                   std::int64_t iteration) const;
  std::vector<std::vector<double>> curves(const LeukemiaVariant& variant, const Method& method) const;
  /// Median processor microseconds per iteration, in the first variant.
  double microseconds(const Method& method) const;
  const Json& default_run(Standardisation standardisation) const;
  /// "AML 31, ALL 5": with the class that a test sample has.
  std::string name_samples(const std::vector<Index>& test_samples) const;

 private:
  const Leukemia& experiment_;
  const Journal& journal_;
};

std::vector<Claim> leukemia_claims(const LeukemiaResults& results);

}  // namespace magva::experiments
