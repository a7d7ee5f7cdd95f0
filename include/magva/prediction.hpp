#pragma once
// What a fitted regression says about new rows, and how well that met their response.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "magva/check.hpp"
#include "magva/model_source.hpp"
#include "magva/posterior.hpp"
#include "magva/regression.hpp"

namespace magva::prediction {

/// Rows to predict, as the model takes them.
using NewRows = source::ModelRows;

enum class PredictionScale {
  response,  ///< of the response, and for two classes the probability of the second
  link,      ///< of the linear predictor
};

struct PredictOptions {
  Index draws = 1000;  ///< from the posterior; of a fit with groups at most as many as it has stored
  std::uint64_t seed = 1;
  double level = .9;  ///< of the intervals
  PredictionScale scale = PredictionScale::response;
  /// Draws of theta to predict with, one column each; empty: of the posterior.
  Matrix theta = {};

  /// These draws, or the posterior's.
  Matrix draws_of(const Gaussian& posterior) const;
  /// Throws UsageError for invalid options.
  void validate() const;
};

/// The rows of a table, encoded as the data of the fit were. Read it with the spec's column kinds. Throws
/// DataError.
NewRows encode_new_rows(const table::Table& table, const source::ModelSpec& spec,
                        table::MissingPolicy missing = table::MissingPolicy::refuse);

/// The same from a table's file, or from a design file that is encoded so. Throws IoError or DataError.
NewRows read_new_rows(const std::string& file, const source::ModelSpec& spec, table::ReadOptions reading = {},
                      table::MissingPolicy missing = table::MissingPolicy::refuse);

struct RowPredictions {
  Vector mean;  ///< of the posterior predictive distribution: for two classes, the probability of 1
  Vector q05, q25, q75, q95;  ///< of the probability for two classes, of the response otherwise
  Vector log_score;           ///< log p(y | data); empty if the rows have no response
  Vector lower, upper;        ///< of the central interval at the level that was asked for
  /// Of an ordered or categorical response: the probability of each class, a column each. The mean is then
  /// the number of the likeliest class, and lower and upper belong to the probability of that.
  Matrix probabilities = {};
};

/// By draws from the posterior, some rows at a time. A group that the fit has not seen is drawn from the
/// population.
RowPredictions predict_rows(const source::ModelSpec& spec, const NewRows& rows, const Gaussian& posterior,
                            const PredictOptions& options);
RowPredictions predict_rows(const source::ModelSpec& spec, const NewRows& rows, const Gaussian& posterior,
                            Index draws = 1000, std::uint64_t seed = 1);

/// What the checks of a fit look at (check.hpp): its own rows, at draws from its posterior. Unset if the
/// source has kept no rows, or the model is a P-spline.
std::optional<CheckInput> check_input(const source::ModelSource& source, const Gaussian& posterior,
                                      Index draws = 1000, std::uint64_t seed = 1);

/// Rows whose predicted probability lies in [lower, upper).
struct CalibrationBin {
  double lower, upper;
  Index rows;
  double predicted;  ///< mean probability
  double observed;   ///< share of class 1
};

struct Scores {
  Index rows = 0;
  double log_score = 0;                     ///< mean log predictive density
  std::optional<double> error_rate;         ///< two classes: share of rows whose likelier class was wrong
  std::vector<CalibrationBin> calibration;  ///< two classes: bins with rows
  std::optional<double> rmse;               ///< otherwise
  std::optional<double> coverage50,
      coverage90;  ///< otherwise: share of responses inside the central intervals
};

Scores score(const RowPredictions& predictions, const Vector& response, bool two_classes);

}  // namespace magva::prediction
