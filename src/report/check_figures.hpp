#pragma once
// Figures about how a model meets its data.
#include <vector>

#include "magva/fit_folder.hpp"
#include "magva/stored_check.hpp"
#include "report/figure.hpp"

namespace magva::report {

/// Responses that the model simulates beside those observed, calibration, residuals, Pareto k.
std::vector<Panel> model_check_panels(const results::StoredCheck& stored);

/// Coefficients that have a normal prior, with the prior behind the posterior; empty if there are none.
std::vector<Panel> prior_panels(const results::FitRecord& record, std::size_t most);

}  // namespace magva::report
