#pragma once
// What the finished runs of the ionosphere experiment say.
#include "experiments/claims.hpp"
#include "experiments/ionosphere.hpp"
#include "experiments/statistics.hpp"

namespace magva::experiments {

class IonosphereResults {
 public:
  IonosphereResults(const Ionosphere& experiment, const Journal& journal)
      : experiment_(experiment), journal_(journal) {}

  const Ionosphere& experiment() const { return experiment_; }
  const IonosphereSettings& settings() const { return experiment_.config(); }
  /// A figure of the first split: training_percent, test_percent or seconds.
  double first_split(const Method& method, Cuts cuts, const char* field) const;
  /// The same over all generated splits, with cuts from all rows.
  std::vector<double> over_splits(const Method& method, const char* field) const;
  /// In how many of the generated splits each row is misclassified.
  std::vector<Index> times_wrong(const Method& method) const;

  std::vector<const Json*> curve_runs(const Method& method) const;
  std::vector<std::vector<double>> curves(const Method& method) const;
  Ends bound(const Method& method) const;
  MeanSd mean_field_bound() const;
  double default_bound() const;
  std::vector<const Json*> printed_runs() const;
  double iterations_to_own_end(const Method& method) const;
  /// To within kConvergedWithin of mean-field's end; NaN if most runs never get there.
  double iterations_to_mean_field(const Method& method) const;
  double mean_oscillation(const Method& method) const;
  double microseconds(const Method& method) const;

 private:
  const Ionosphere& experiment_;
  const Journal& journal_;
};

std::vector<Claim> ionosphere_claims(const IonosphereResults& results);

}  // namespace magva::experiments
