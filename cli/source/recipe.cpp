#include "source/recipe.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "magva/error.hpp"

namespace magva::source {

namespace {

using Json = nlohmann::json;

SparseMatrix engine_matrix(const input::SparseRowMatrix& x) {
  SparseMatrix out;
  out.cols = x.cols();
  out.columns.reserve(static_cast<std::size_t>(x.nonZeros()));
  out.values.reserve(static_cast<std::size_t>(x.nonZeros()));
  for (Index row = 0; row < x.rows(); ++row) {
    for (input::SparseRowMatrix::InnerIterator entry(x, row); entry; ++entry) {
      out.columns.push_back(static_cast<std::int32_t>(entry.col()));
      out.values.push_back(entry.value());
    }
    out.starts.push_back(static_cast<std::int64_t>(out.values.size()));
  }
  return out;
}

PriorOptions prior_options(const Recipe& recipe) {
  if (recipe.prior == "normal") return NormalPriorOptions{.variance = recipe.prior_variance};
  return HorseshoeOptions{
      .form = recipe.form, .intercept_variance = recipe.prior_variance, .start_log_tau = {}};
}

PsplineOptions spline_options(const SplineRecipe& spline) {
  PsplineOptions options;
  options.functions = spline.functions;
  options.lower = spline.lower;
  options.upper = spline.upper;
  return options;
}

// The design has an intercept and the covariate.
Vector covariate(const input::Design& rows) { return rows.x.col(1); }

// A response that every likelihood allows stands in where there is none.
Vector response_or_zeros(const input::Design& rows) {
  return rows.y.size() > 0 ? rows.y : Vector(Vector::Zero(rows.size()));
}

}  // namespace

bool Recipe::coefficients_are_coordinates() const {
  return prior != "horseshoe" || form == HorseshoeForm::centred;
}

std::string Recipe::description() const {
  if (spline)
    return fmt::format("robust P-spline regression with {} basis functions of '{}'", spline->functions,
                       spline->covariate);
  const char* name = model == "logistic" ? "logistic" : model == "linear" ? "linear" : "Poisson";
  if (prior == "normal")
    return fmt::format("{} regression with a normal prior of variance {}", name, prior_variance);
  return fmt::format("{} regression with a horseshoe prior", name);
}

Json to_json(const Recipe& recipe) {
  Json json = {{"model", recipe.model},
               {"prior", recipe.prior},
               {"horseshoe", recipe.form == HorseshoeForm::centred ? "centred" : "noncentred"},
               {"prior_variance", recipe.prior_variance},
               {"design", input::to_json(recipe.design)}};
  if (recipe.spline)
    json["spline"] = {{"covariate", recipe.spline->covariate},
                      {"functions", recipe.spline->functions},
                      {"lower", recipe.spline->lower.value()},
                      {"upper", recipe.spline->upper.value()}};
  return json;
}

Recipe recipe_from_json(const Json& json, const std::string& origin) {
  try {
    Recipe recipe;
    recipe.model = json.at("model");
    recipe.prior = json.at("prior");
    recipe.form = json.at("horseshoe") == "centred" ? HorseshoeForm::centred : HorseshoeForm::noncentred;
    recipe.prior_variance = json.at("prior_variance");
    recipe.design = input::design_spec_from_json(json.at("design"));
    if (json.contains("spline")) {
      const Json& spline = json["spline"];
      recipe.spline = SplineRecipe{spline.at("covariate"), spline.at("functions"),
                                   spline.at("lower").get<double>(), spline.at("upper").get<double>()};
    }
    return recipe;
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("'{}' is no model of a fit: {}", origin, error.what()));
  }
}

Design engine_design(const Recipe& recipe, input::Design rows, design_file::Element element) {
  if (recipe.spline) {
    const SplineRecipe& s = *recipe.spline;
    return Design::own(BSplineBasis(s.functions, PsplineOptions{}.degree, s.lower.value(),
                                    s.upper.value())(covariate(rows)));
  }
  if (recipe.design.sparse()) return Design::own(engine_matrix(rows.sparse_x));
  if (element == design_file::Element::float32)
    return Design::own(design_file::single_precision(rows.x, recipe.design));
  return Design::own(std::move(rows.x));
}

Regression build_regression(const Recipe& recipe, RegressionData data) {
  if (recipe.model == "logistic") return logistic_regression(std::move(data), prior_options(recipe));
  if (recipe.model == "poisson") return poisson_regression(std::move(data), prior_options(recipe));
  return linear_regression(std::move(data), prior_options(recipe));
}

Regression build_regression(const Recipe& recipe, input::Design rows, design_file::Element element) {
  Vector response = response_or_zeros(rows);
  if (recipe.spline)
    return pspline_regression(covariate(rows), response, rows.weights, spline_options(*recipe.spline)).model;
  Vector weights = std::move(rows.weights);
  Design design = engine_design(recipe, std::move(rows), element);
  return build_regression(
      recipe, {std::move(design), std::move(response), std::move(weights), recipe.design.names()});
}

Regression model_without_data(const Recipe& recipe) {
  input::Design row;
  row.rows = {0};
  const auto columns = static_cast<Index>(recipe.design.names().size());
  if (recipe.design.sparse()) {
    row.sparse_x.resize(1, columns);
    row.sparse_x.insert(0, 0) = 1;
    row.sparse_x.makeCompressed();
  } else {
    row.x = RowMatrix::Ones(1, columns);
    if (recipe.spline) row.x(0, 1) = recipe.spline->lower.value();
  }
  return build_regression(recipe, std::move(row));
}

}  // namespace magva::source
