#pragma once
// The figures of a fit's page.
#include <vector>

#include "magva/fit_folder.hpp"
#include "report/figure.hpp"
#include "report/fit_report.hpp"

namespace magva::report {

std::vector<Panel> trace_panels(const std::vector<results::TraceRow>& trace);
/// The parameters that differ most clearly from zero, with their 90 % intervals.
std::vector<Panel> interval_panels(const results::StoredFit& fit, const FitReportOptions& options);
/// The largest loadings of each factor.
std::vector<Panel> loading_panels(const results::StoredFit& fit, const FitReportOptions& options);
std::vector<Panel> check_panels(const PredictiveCheck& check);

}  // namespace magva::report
