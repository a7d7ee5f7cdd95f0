#pragma once
// The paper's section 4.2: logistic regression on the ionosphere data.
#include "experiments/experiment.hpp"
#include "experiments/method.hpp"
#include "magva/regression.hpp"
#include "magva/table.hpp"

namespace magva::experiments {

struct IonosphereSettings {
  Index rank = 4;
  std::int64_t iterations = 5000;
  Index repetitions = 30;  ///< of the lower-bound curves
  std::uint64_t seed = 1;
  double prior_variance = 10;
  StartingValues start{.factor_scale = .1, .residual_scale = .1};
  std::int64_t window = 25;   ///< iterations that a point of a curve averages
  Index scoring_draws = 500;  ///< for the lower bound at the end
};

/// The design of one fold: learnt on its training rows, or on all rows as in the paper.
struct FoldDesign {
  RowMatrix training_x, test_x;
  Vector training_y, test_y;
};

/// Where the cuts of the MDLP expansion come from.
enum class Cuts { allRows, trainingRows };
const char* id(Cuts cuts);

class Ionosphere final : public Experiment {
 public:
  /// Folds as a list, one a row; empty: stratified, from the seed.
  Ionosphere(const IonosphereSettings& settings, table::Table table, std::vector<int> folds);

  std::string name() const override { return "ionosphere"; }
  Json settings() const override;
  std::vector<Run> runs() const override;
  std::vector<std::string> write(const Journal& journal, const std::filesystem::path& folder) const override;

  static std::vector<Method> table_methods();
  static std::vector<Method> curve_methods();
  static std::string fold_key(const Method& method, Cuts cuts, std::size_t fold);
  static std::string curve_key(const Method& method, Index repetition);

  const IonosphereSettings& config() const { return settings_; }
  std::size_t folds() const { return all_rows_.size(); }
  bool folds_given() const { return folds_given_; }
  Index columns() const { return whole_.coefficient_count() - 1; }
  /// Columns of each fold's own expansion.
  std::vector<Index> fold_columns() const;

 private:
  Json run_fold(const Method& method, const FoldDesign& fold, const StopFlag& stop) const;
  Json run_curve(const Method& method, Index repetition, const StopFlag& stop) const;

  IonosphereSettings settings_;
  std::string data_digest_;
  bool folds_given_;
  std::vector<int> folds_;
  Regression whole_;
  std::vector<FoldDesign> all_rows_, training_rows_;
};

}  // namespace magva::experiments
