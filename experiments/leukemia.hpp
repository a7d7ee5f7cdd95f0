#pragma once
// The paper's section 4.3: logistic regression with a horseshoe prior and far more coefficients than samples.
#include "experiments/experiment.hpp"
#include "experiments/method.hpp"
#include "magva/regression.hpp"

namespace magva::experiments {

enum class Standardisation {
  all_samples,       ///< as published: means and sds of each probe over training and test samples
  training_samples,  ///< over the training samples alone
};

/// What the paper leaves open and the result hangs on.
struct LeukemiaVariant {
  std::string id;
  std::string label;
  HorseshoeForm form;
  double start_log_tau;
  Standardisation standardisation;
  std::vector<Method> methods;
  double longest;  ///< run of the followed methods, in multiples of the paper's iterations
};

struct LeukemiaSettings {
  Index rank = 4;
  std::int64_t iterations = 5000;
  Index repetitions = 2;
  std::uint64_t seed = 1;
  double intercept_variance = 10;
  StartingValues start;
  std::int64_t window = 50;
  Index predictive_draws = 300;
  Index scoring_draws = 100;
  /// The data to which magva's default is fitted, too, which takes minutes.
  std::vector<Standardisation> default_fits{Standardisation::all_samples};
};

/// 38 training and 34 test samples, standardised as in the LIBSVM collection; the intercept is the first
/// column.
struct LeukemiaData {
  RowMatrix training_x, test_x;
  Vector training_y, test_y;  ///< 1: ALL, 0: AML
  std::string source;
};
/// From leukemia_{train,test}_std.csv or LIBSVM's leu and leu.t. MissingData if neither is found.
LeukemiaData read_leukemia(const std::filesystem::path& folder);
/// Each probe's mean and sd are those of the training samples. Undoes what was standardised per probe before.
LeukemiaData standardised_by_training(LeukemiaData data);

class Leukemia final : public Experiment {
 public:
  Leukemia(const LeukemiaSettings& settings, LeukemiaData data);

  std::string name() const override { return "leukemia"; }
  Json settings() const override;
  std::vector<Run> runs() const override;
  double seconds_per_evaluation() const override;
  std::vector<std::string> write(const Journal& journal, const std::filesystem::path& folder) const override;

  /// The first is that of the table; all whose fits go on past the paper's iterations come first.
  static const std::vector<LeukemiaVariant>& variants();
  static std::string key(const LeukemiaVariant& variant, const Method& method, Index repetition);
  static std::string default_key(Standardisation standardisation);
  /// Those whose fits go on to a variant's end; others stop at one and a half times the paper's iterations.
  static std::vector<Method> followed_methods();
  /// Iterations at which a method's fits are looked at.
  std::vector<std::int64_t> checkpoints(const LeukemiaVariant& variant, const Method& method) const;
  const LeukemiaSettings& config() const { return settings_; }
  const LeukemiaData& data() const { return data_; }

 private:
  struct Samples {
    Design training, test;
  };
  const Samples& samples(Standardisation standardisation) const;
  Regression model(const LeukemiaVariant& variant) const;
  Json run_fit(const LeukemiaVariant& variant, const Method& method, Index repetition,
               const StopFlag& stop) const;
  Json run_default(Standardisation standardisation, const StopFlag& stop) const;
  /// The samples that a fit calls by the wrong name, numbered from 1.
  Json wrong_samples(const Regression& model, HorseshoeForm form, const Samples& samples,
                     const Gaussian& posterior, std::uint64_t seed) const;

  LeukemiaSettings settings_;
  LeukemiaData data_;
  Samples published_, by_training_;
};

}  // namespace magva::experiments
