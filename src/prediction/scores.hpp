#pragma once
// How well predictions met the response that was there.
#include <optional>
#include <vector>

#include "prediction/predict_rows.hpp"

namespace magva::prediction {

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
