#pragma once
// What a fitted regression says about new rows, and how well that met their response.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "magva/model_source.hpp"
#include "magva/posterior.hpp"
#include "magva/regression.hpp"

namespace magva::prediction {

/// Rows to predict, as the model takes them.
struct NewRows {
  Design design;
  Vector response;                 ///< empty if they have none
  std::vector<Index> row_numbers;  ///< in their file, from 0; empty: all of its rows
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
};

/// By `draws` draws from the posterior, some rows at a time.
RowPredictions predict_rows(const source::ModelSpec& spec, const NewRows& rows, const Gaussian& posterior,
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
