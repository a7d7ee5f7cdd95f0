#pragma once
// Ordered and categorical responses by a formula.
#include <memory>
#include <string>
#include <vector>

#include "magva/class_regression.hpp"
#include "magva/formula_model.hpp"

namespace magva::source {

/// "cut[1]", and "b: x1" for the coefficient of class b against the first class.
std::string cut_name(std::size_t k);
std::string class_coefficient_name(const std::string& name_of_class, const std::string& coefficient);

/// What stands before the names of each linear predictor's coefficients and group effects: "b: " for each
/// class but the first of a categorical response, nothing for others.
std::vector<std::string> predictor_prefixes(const FormulaModel& model);
/// Of the columns of the design: an ordered response has cut points in the intercept's place.
std::vector<std::string> class_coefficient_names(const FormulaModel& model);
/// The model on these rows, whose design has the intercept's column unless the response is ordered.
ClassRegression make_class_regression(const FormulaModel& model, RegressionData data);
/// On a row of no importance for each class: good for prediction only.
ClassRegression class_regression_without_data(const FormulaModel& model);

/// Coefficients of each linear predictor and cut points, for the formula's own columns.
std::unique_ptr<Reporter> make_class_reporter(std::shared_ptr<const FormulaModel> model,
                                              std::shared_ptr<const ClassRegression> regression);

}  // namespace magva::source
