#pragma once
// Does the model fit the data? Leave-one-out cross-validation, coverage of predictive intervals, dispersion.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "magva/response_family.hpp"
#include "magva/workers.hpp"

namespace magva {

/// Pareto smoothed importance sampling leave-one-out cross-validation (Vehtari, Gelman and Gabry 2017).
struct LooResult {
  double elpd = 0;     ///< expected log pointwise predictive density
  double elpd_se = 0;  ///< its standard error
  double p_loo = 0;    ///< effective number of parameters
  double p_loo_se = 0;
  Index rows = 0;    ///< in the data
  Index high_k = 0;  ///< rows whose Pareto k is above the threshold: their parts are not to be trusted
  double threshold;  ///< min(1 - 1 / log10(draws), .7)
  Vector elpd_rows;  ///< each row's part
  Vector khat_rows;
  std::string describe() const;
};

/// `log_likelihood`: a row per observation, a column per draw, with every constant. `log_weights`: if the
/// draws are a Gaussian's, log posterior density - log Gaussian density of each (Magnusson, Andersen,
/// Jonasson and Vehtari 2019); empty if they are the posterior's own.
LooResult psis_loo(ConstMatrixRef log_likelihood, ConstVectorRef log_weights = Vector());

/// a's elpd minus b's, on the same rows.
struct LooDifference {
  double elpd = 0;
  double se = 0;
};
/// Throws UsageError if the rows are not as many.
LooDifference compare_loo(ConstVectorRef elpd_rows_a, ConstVectorRef elpd_rows_b);

/// What a check looks at. Rows are taken some at a time: memory does not grow with rows times draws.
struct CheckInput {
  std::shared_ptr<const ResponseFamily> family;
  ResponseRows rows;
  /// Fills column s of `eta` with the linear predictors of the rows first, first + 1, ... in draw s: offsets,
  /// group effects and all. Called from several threads.
  std::function<void(Index first, MatrixRef eta)> predictor;
  Matrix own;          ///< the family's own coordinates, a column per draw
  Vector log_weights;  ///< as for psis_loo
  std::uint64_t seed = 1;

  Index draws() const { return own.cols(); }
};

/// Share of rows inside central predictive intervals, each row's from the data without it. Discrete responses
/// count by the probability that lies inside.
struct Coverage {
  double inside50 = 0;
  double inside90 = 0;
  double se50 = 0;  ///< standard errors of the shares, were the model right
  double se90 = 0;
};

/// Pearson's statistic of the data over that of data which the model simulates; near 1 if the model is right.
struct Dispersion {
  double ratio = 1;
  double p_value = .5;        ///< share of simulated data that vary as much as the data
  double zeros_observed = 0;  ///< share of responses that are 0
  double zeros_predicted = 0;
  /// What is wrong and which family to try, a sentence; empty if nothing is.
  std::string advice;
};

/// Responses beside those of data sets that the model simulates: counts in bins.
struct PredictiveHistogram {
  Vector edges;              ///< one more than there are bins
  Vector observed;           ///< rows in each bin
  Vector low, median, high;  ///< 5, 50 and 95 % of the simulated counts
};

struct FitCheck {
  LooResult loo;
  Coverage coverage;
  std::optional<Dispersion> dispersion;  ///< unset where it says nothing: one trial a row, censored rows
  Vector pit;   ///< probability that a new response is below the row's, from the data without it: uniform if
                ///< right
  Vector mean;  ///< E y of each row
  Vector sd;    ///< of a new response
  PredictiveHistogram histogram;
  /// All of it in a sentence or two.
  std::string describe() const;
};

/// Throws UsageError if the input does not fit together.
FitCheck check_fit(const CheckInput& input, Workers& workers);

}  // namespace magva
