#pragma once
// Does the model fit the data? Leave-one-out cross-validation, coverage of predictive intervals, dispersion.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
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

/// The distributions of the responses of some rows, at each draw.
class RowDistributions {
 public:
  virtual ~RowDistributions() = default;
  /// log p of each row's response, with every constant: a column per draw.
  virtual Matrix log_likelihoods() const = 0;
  /// P(Y <= y), E Y, Var Y and a draw of Y, of a row in a draw.
  virtual double cdf(Index row, Index draw, double y) const = 0;
  virtual double mean(Index row, Index draw) const = 0;
  virtual double variance(Index row, Index draw) const = 0;
  virtual double simulate(Index row, Index draw, std::mt19937_64& generator) const = 0;
};

/// What a check looks at. Rows are taken some at a time: memory does not grow with rows times draws.
struct CheckInput {
  std::shared_ptr<const ResponseFamily> family;  ///< null: unordered classes
  ResponseRows rows;
  /// Fills column s of `eta` with the linear predictors of the rows first, first + 1, ... in draw s: offsets,
  /// group effects and all. Called from several threads.
  std::function<void(Index first, MatrixRef eta)> predictor;
  Matrix own;          ///< the family's own values, a column per draw
  Vector log_weights;  ///< as for psis_loo
  std::uint64_t seed = 1;
  /// Of unordered classes 0, 1, ..., instead of a predictor: fills column s * classes + k with the
  /// probabilities of class k in draw s.
  Index classes = 0;
  std::function<void(Index first, MatrixRef probabilities)> probabilities;
  /// Factors of the rows' log likelihoods in the fit; null: 1 each. Leaving a row out leaves out all that it
  /// counts for.
  const double* row_weights = nullptr;

  Index draws() const { return own.cols(); }
  Distribution distribution() const { return family ? family->distribution() : Distribution::categorical; }
  /// Whether responses are whole numbers.
  bool discrete() const { return !family || family->discrete(); }
  /// Of the rows first, ..., first + count - 1.
  std::unique_ptr<const RowDistributions> distributions(Index first, Index count) const;
};

/// Share of rows inside central predictive intervals, each row's from the data without it, by the rows'
/// weights. Discrete responses count by the probability that lies inside; classes have the order of their
/// numbers.
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
