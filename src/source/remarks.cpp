// What a user should know about a posterior beyond how well it was fitted.
#include "magva/model_source.hpp"
#include "magva/predict.hpp"
#include "scale/likelihood_model.hpp"

namespace magva::source {

namespace {

/// Null if the model is none, or its rows are not on this machine.
const Regression* regression_of(const Model* model) {
  if (const auto* elsewhere = dynamic_cast<const detail::RegressionOf*>(model)) return elsewhere->whole();
  return dynamic_cast<const Regression*>(model);
}

/// Whether the mean linear predictor tells two classes apart without error.
bool separated(const ModelSource& source, const Regression& regression, const Gaussian& posterior) {
  const ModelRows& rows = *source.rows;
  Vector eta = linear_predictor(regression, rows.design, posterior.mean());
  if (rows.offset.size() > 0) eta += rows.offset;
  return ((2 * rows.response.array() - 1) * eta.array() > 0).all();
}

}  // namespace

std::vector<std::string> remarks(const ModelSource& source, const Gaussian& posterior) {
  const Regression* regression = regression_of(source.model.get());
  if (regression == nullptr || !source.rows || !source.spec || !source.spec->two_classes()) return {};
  if (!separated(source, *regression, posterior)) return {};
  return {
      "the classes are separated: a combination of the predictors tells them apart without error, so that "
      "coefficients "
      "are as large as their priors allow; choose these with care"};
}

}  // namespace magva::source
