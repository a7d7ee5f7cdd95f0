#pragma once
// A regression model without its data: what is stored with a fit, so that `magva predict` builds the same
// model on new rows.
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "magva/regression.hpp"
#include "options/values.hpp"
#include "table/design.hpp"
#include "table/design_file.hpp"

namespace magva::source {

/// The knots of a P-spline, fixed by the data of the fit.
struct SplineRecipe {
  std::string covariate;
  Index functions = 25;
  std::optional<double> lower, upper;
};

struct Recipe {
  std::string model;  ///< logistic, linear, poisson, pspline
  std::string prior;  ///< normal, horseshoe
  HorseshoeForm form = HorseshoeForm::noncentred;
  double prior_variance = 10;
  std::optional<SplineRecipe> spline;
  input::DesignSpec design;

  /// Whether the coefficients are coordinates of theta, or made out of several of them.
  bool coefficients_are_coordinates() const;
  std::string description() const;
};

nlohmann::json to_json(const Recipe& recipe);
/// DataError where the JSON is none that to_json can have written.
Recipe recipe_from_json(const nlohmann::json& json, const std::string& origin);

/// Rows as the models of the engine take them.
Design engine_design(const Recipe& recipe, input::Design rows,
                     design_file::Element element = design_file::Element::float64);
/// The model on these rows; a P-spline takes `input::Design`.
Regression build_regression(const Recipe& recipe, RegressionData data);
Regression build_regression(const Recipe& recipe, input::Design rows,
                            design_file::Element element = design_file::Element::float64);
/// On one row of no importance, which gives the model its shape: good for prediction only.
Regression model_without_data(const Recipe& recipe);

}  // namespace magva::source
