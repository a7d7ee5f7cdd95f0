#pragma once
// Figures of regressions by formula: group effects, smooth curves, residuals by predictor.
#include <vector>

#include "magva/fit_folder.hpp"
#include "report/figure.hpp"
#include "report/fit_report.hpp"

namespace magva::report {

/// For each effect of each grouping factor: the groups in order, with their 90 % intervals.
std::vector<Panel> group_panels(const results::StoredFit& fit);
/// The curve of each smooth term with its 90 % band and, where the rows of the fit are there and the response
/// has the linear predictor's scale, what the rows leave to it.
std::vector<Panel> smooth_panels(const results::StoredFit& fit, const PredictiveCheck& check);
/// Residuals of the rows of the fit against its predictors that are numbers; empty if the rows are not there.
std::vector<Panel> predictor_panels(const results::StoredFit& fit, const PredictiveCheck& check);

}  // namespace magva::report
