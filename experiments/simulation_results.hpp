#pragma once
// What the finished runs of the simulation say.
#include "experiments/claims.hpp"
#include "experiments/simulation.hpp"
#include "experiments/statistics.hpp"

namespace magva::experiments {

/// The support of the prior with which the tables and figures are made.
inline constexpr WeibullSupport kPrinted = WeibullSupport::above_one;

class SimulationResults {
 public:
  SimulationResults(const Simulation& experiment, const Journal& journal)
      : settings_(experiment.config()), journal_(journal) {}

  const SimulationSettings& settings() const { return settings_; }
  std::vector<const Json*> runs(WeibullSupport support, const Method& method, Index rank) const;
  /// Mean-field's lower bound at the end ("elbo") or after half the iterations ("elbo_half").
  MeanSd mean_field_bound(WeibullSupport support, const char* field = "elbo") const;
  Ends bound(WeibullSupport support, const Method& method, Index rank, const char* field = "elbo") const;

  // The rest is with the support as printed.
  std::vector<std::vector<double>> curves(const Method& method, Index rank) const;
  /// Median iterations to within kConvergedWithin of a run's own end.
  double iterations_to_own_end(const Method& method, Index rank) const;
  /// Median iterations to within kConvergedWithin of mean-field's end; NaN if most runs never get there.
  double iterations_to_mean_field(const Method& method, Index rank) const;
  double mean_oscillation(const Method& method, Index rank) const;
  /// Median processor microseconds per iteration.
  double microseconds(const Method& method, Index rank) const;
  /// One value per data set, at one of the outliers' variances; `what` is rmse, turning or shift.
  std::vector<double> robustness(const Method& method, Index rank, const char* what, std::size_t scale) const;

 private:
  const SimulationSettings& settings_;
  const Journal& journal_;
};

std::vector<Claim> simulation_claims(const SimulationResults& results);

}  // namespace magva::experiments
