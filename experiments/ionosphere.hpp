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
  Index splits = 20;       ///< into five folds, for the error rates
  std::uint64_t seed = 1;
  double prior_variance = 10;
  StartingValues start;
  std::int64_t window = 25;   ///< iterations that a point of a curve averages
  Index scoring_draws = 500;  ///< for the lower bound at the end
};

/// The design of one fold: learnt on its training rows, or on all rows as in the paper.
struct FoldDesign {
  RowMatrix training_x, test_x;
  Vector training_y, test_y;
  std::vector<Index> test_rows;
};

/// Where the cuts of the MDLP expansion come from.
enum class Cuts { all_rows, training_rows };
const char* id(Cuts cuts);

/// The rows cut into folds.
struct Split {
  std::string name;
  std::vector<int> folds;  ///< one per row
};

class Ionosphere final : public Experiment {
 public:
  /// `given_folds`: one per row; may be empty.
  Ionosphere(const IonosphereSettings& settings, table::Table table, std::vector<int> given_folds);

  std::string name() const override { return "ionosphere"; }
  Json settings() const override;
  std::vector<Run> runs() const override;
  double seconds_per_evaluation() const override;
  std::vector<std::string> write(const Journal& journal, const std::filesystem::path& folder) const override;

  /// Those whose error rates are measured on every split.
  static std::vector<Method> error_methods();
  /// Those that are run on the first split alone.
  static std::vector<Method> further_error_methods();
  static std::vector<Method> curve_methods();
  static std::string error_key(const Method& method, Cuts cuts, const Split& split);
  static std::string curve_key(const Method& method, Index repetition);
  static std::string default_key() { return "default"; }
  /// RGD-AdaDelta on Stiefel as printed, without the engine.
  static std::string printed_key(Index repetition);

  const IonosphereSettings& config() const { return settings_; }
  /// The folds of a file first, if one was given; then the generated ones.
  const std::vector<Split>& splits() const { return splits_; }
  bool folds_given() const { return folds_given_; }
  Index columns() const { return whole_.coefficient_count() - 1; }
  Index rows() const { return y_.size(); }
  /// Columns of each fold's own expansion, in the first split.
  std::vector<Index> fold_columns() const;

 private:
  FoldDesign all_rows_design(const Split& split, int fold) const;
  Json run_errors(const Method& method, Cuts cuts, const Split& split, const StopFlag& stop) const;
  Vector posterior_mean(const Method& method, const FoldDesign& fold, const StopFlag& stop) const;
  Json run_curve(const Method& method, Index repetition, const StopFlag& stop) const;
  Json run_default(const StopFlag& stop) const;
  Json run_printed(Index repetition) const;

  IonosphereSettings settings_;
  std::string data_digest_;
  bool folds_given_;
  std::vector<Split> splits_;
  RowMatrix x_;  ///< cuts from all rows
  Vector y_;
  Regression whole_;
  std::vector<FoldDesign> training_rows_;  ///< of the first split
};

}  // namespace magva::experiments
