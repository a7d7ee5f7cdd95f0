#pragma once
// `magva report`: a page about a user's own fit.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "magva/fit_folder.hpp"
#include "magva/prediction.hpp"

namespace magva::report {

/// How the fit meets rows whose response is known, or why that was not looked at.
struct PredictiveCheck {
  std::optional<prediction::Scores> scores;
  prediction::RowPredictions rows;
  std::shared_ptr<const prediction::NewRows> data;  ///< what was predicted; null if there are no scores
  Vector response;
  std::string source;    ///< what the rows are
  std::string positive;  ///< of two classes: the one whose probability is predicted
  std::string missing;   ///< a sentence, if there are no scores
};

struct FitReportOptions {
  std::size_t parameters = 20;  ///< shown with their intervals
  std::size_t loadings = 12;    ///< shown of each factor
  Index factors = 4;            ///< shown
};

/// Writes the page, and its figures into a folder beside it. Returns a sentence if there is no gnuplot.
std::string write_fit_report(const results::StoredFit& fit, const PredictiveCheck& check,
                             const FitReportOptions& options, const std::filesystem::path& page,
                             const std::filesystem::path& figures);

}  // namespace magva::report
