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
  std::int64_t iterations = 2000;
  std::int64_t fit_after = 1000;  ///< iterations at which the fitted functions are drawn
  Index repetitions = 10;
  std::uint64_t seed = 1;
  StartingValues start{.factor_scale = .1, .residual_scale = .1};
  std::int64_t window = 20;
  Index scoring_draws = 1000;
};

struct SimulatedData {
  Vector x, y;
};
/// x uniform on (0, 1), y = sin(4 pi x) + noise; the same data for the same seed.
SimulatedData simulate(const SimulationSettings& settings);

class Simulation final : public Experiment {
 public:
  explicit Simulation(const SimulationSettings& settings);

  std::string name() const override { return "simulation"; }
  Json settings() const override;
  std::vector<Run> runs() const override;
  std::vector<std::string> write(const Journal& journal, const std::filesystem::path& folder) const override;

  static const std::vector<FamilyKind>& manifolds();
  /// Those of the paper and, where the family is Stiefel or Grassmann, the settled one.
  static std::vector<Method> methods_on(FamilyKind manifold);
  static std::string key(const Method& method, Index rank, Index repetition);
  const SimulationSettings& config() const { return settings_; }
  const SimulatedData& data() const { return data_; }
  /// Where the fitted functions are evaluated.
  static Vector grid();

 private:
  Json run_fit(const Method& method, Index rank, Index repetition, const StopFlag& stop) const;

  SimulationSettings settings_;
  SimulatedData data_;
  Pspline spline_;
};

}  // namespace magva::experiments
