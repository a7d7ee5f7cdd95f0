#pragma once
// The paper's section 4.3: logistic regression with a horseshoe prior and far more coefficients than samples.
#include "experiments/experiment.hpp"
#include "experiments/method.hpp"
#include "magva/regression.hpp"

namespace magva::experiments {

/// The result hangs on the coordinates and on where log tau starts; the paper says neither.
struct LeukemiaCoordinates {
  std::string id;
  std::string label;
  HorseshoeForm form;
  double start_log_tau;
};

struct LeukemiaSettings {
  Index rank = 4;
  std::int64_t iterations = 5000;
  Index repetitions = 1;
  std::uint64_t seed = 1;
  double intercept_variance = 10;
  StartingValues start{.factor_scale = .1, .residual_scale = .1};
  std::int64_t window = 25;
  Index predictive_draws = 500;
  /// The first are those of the table.
  std::vector<LeukemiaCoordinates> coordinates{
      {"non-centred", "non-centred, log tau from 2", HorseshoeForm::noncentred, 2},
      {"zero-mode", "non-centred, log tau from 0", HorseshoeForm::noncentred, 0},
      {"centred", "centred, log tau from -7", HorseshoeForm::centred, -7}};
};

/// 38 training and 34 test samples, standardised as in the LIBSVM collection; the intercept is the first
/// column.
struct LeukemiaData {
  RowMatrix training_x, test_x;
  Vector training_y, test_y;  ///< 1: ALL, 0: AML
  std::string source;
};
/// From leukemia_{train,test}_std.csv or LIBSVM's leu and leu.t. MissingData where neither is found.
LeukemiaData read_leukemia(const std::filesystem::path& folder);

class Leukemia final : public Experiment {
 public:
  Leukemia(const LeukemiaSettings& settings, LeukemiaData data);

  std::string name() const override { return "leukemia"; }
  Json settings() const override;
  std::vector<Run> runs() const override;
  std::vector<std::string> write(const Journal& journal, const std::filesystem::path& folder) const override;

  static std::string key(const LeukemiaCoordinates& coordinates, const Method& method, Index repetition);
  const LeukemiaSettings& config() const { return settings_; }
  const LeukemiaData& data() const { return data_; }

 private:
  Json run_fit(std::size_t coordinates, const Method& method, Index repetition, const StopFlag& stop) const;

  LeukemiaSettings settings_;
  LeukemiaData data_;
  Design training_, test_;
  std::vector<Regression> models_;  ///< one for each of the coordinates
};

}  // namespace magva::experiments
