#pragma once
// The paper's section 4.1: a P-spline through data with outliers.
#include "experiments/experiment.hpp"
#include "experiments/method.hpp"
#include "magva/regression.hpp"

namespace magva::experiments {

struct SimulationSettings {
  Index samples = 250;
  double outlier_scale = 5;  ///< a: outliers have variance a sigma^2
  double noise_sd = 1;       ///< sigma
  double outlier_share = .05;
  std::vector<Index> ranks{3, 6, 10};
  std::int64_t iterations =
      2000;  ///< of the paper's Stiefel panels; fixed rank and Grassmann show half of them
  Index repetitions = 10;
  Index data_sets = 20;  ///< of the study of robustness
  std::vector<double> outlier_scales{1, 5, 20,
                                     100};  ///< of the study of robustness; the first is without outliers
  std::uint64_t seed = 1;
  StartingValues start;
  std::int64_t window = 20;
  Index scoring_draws = 1000;
};

struct SimulatedData {
  Vector x, y;
};
/// x uniform on (0, 1), y = sin(4 pi x) + noise. The same seed gives the same x and standardised noise
/// whatever the outliers' variance.
SimulatedData simulate(const SimulationSettings& settings);

/// How far a fitted function is from sin(4 pi x).
struct FunctionError {
  double rmse;
  double at_turning_points;  ///< rmse within .04 of 1/8, 3/8, 5/8, 7/8
};
FunctionError function_error(const Vector& fitted, const Vector& grid);

class Simulation final : public Experiment {
 public:
  explicit Simulation(const SimulationSettings& settings);

  std::string name() const override { return "simulation"; }
  Json settings() const override;
  std::vector<Run> runs() const override;
  double seconds_per_evaluation() const override;
  std::vector<std::string> write(const Journal& journal, const std::filesystem::path& folder) const override;

  static const std::vector<FamilyKind>& manifolds();
  /// The rows of the table of lower bounds, mean-field excepted.
  static std::vector<Method> bound_methods();
  /// Those that are fitted under both supports of the prior, mean-field excepted.
  static std::vector<Method> prior_methods();
  static std::string key(WeibullSupport support, const Method& method, Index rank, Index repetition);
  static std::string robustness_key(const Method& method, Index rank, Index data_set);
  const SimulationSettings& config() const { return settings_; }
  const SimulatedData& data() const { return data_; }
  /// Where the fitted functions are evaluated.
  static Vector grid();

 private:
  Json run_fit(WeibullSupport support, const Method& method, Index rank, Index repetition,
               const StopFlag& stop) const;
  Json run_robustness(const Method& method, Index rank, Index data_set, const StopFlag& stop) const;

  SimulationSettings settings_;
  SimulatedData data_;
  Pspline printed_, positive_;  ///< by the support of 1 / tau^2
};

}  // namespace magva::experiments
