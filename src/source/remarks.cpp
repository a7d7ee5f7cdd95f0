// What a user should know about a posterior beyond how well it was fitted.
#include <algorithm>

#include "magva/mixed.hpp"
#include "magva/model_source.hpp"
#include "magva/predict.hpp"
#include "mixed/layout.hpp"
#include "scale/likelihood_model.hpp"
#include "source/formula_reporter.hpp"

namespace magva::source {

namespace {

/// Null if the model is none, or its rows are not on this machine.
const Regression* regression_of(const Model* model) {
  if (const auto* elsewhere = dynamic_cast<const detail::RegressionOf*>(model)) return elsewhere->whole();
  return dynamic_cast<const Regression*>(model);
}

/// Whether these linear predictors tell two classes apart without error.
bool separates(const Vector& eta, const Vector& response) {
  return ((2 * response.array() - 1) * eta.array() > 0).all();
}

/// Of a regression without groups, at the mean coefficients.
Vector mean_predictor(const ModelRows& rows, const Regression& regression, const Gaussian& posterior) {
  Vector eta = linear_predictor(regression, rows.design, posterior.mean());
  if (rows.offset.size() > 0) eta += rows.offset;
  return eta;
}

/// With groups, at the means of the draws: of the coefficients alone, and with the group effects.
struct GroupPredictors {
  Vector coefficients, all;
};

/// `draws`: the model's quantities, a row each; coefficients are first and group effects last.
GroupPredictors mean_group_predictors(const ModelSource& source, const Matrix& draws) {
  const ModelRows& rows = *source.rows;
  const Index n = rows.response.size();
  const Vector mean = draws.rowwise().mean();
  Matrix beta = mean.head(rows.design.cols());
  to_design_scale(*source.spec->formula, beta);
  GroupPredictors out{Vector(n), Vector(n)};
  RowMatrix row(1, rows.design.cols());
  for (Index i = 0; i < n; ++i) {
    mixed::read_rows(rows.design, i, row);
    out.coefficients(i) = row.row(0).dot(beta.col(0)) + (rows.offset.size() > 0 ? rows.offset(i) : 0);
  }
  out.all = out.coefficients;
  Index first = static_cast<Index>(source.mixed->population_names().size());
  for (std::size_t t = 0; t < rows.groups.size(); ++t) {
    const formula::EncodedGroup& group = rows.groups[t];
    const Index q = std::max<Index>(1, group.z.cols());
    for (Index i = 0; i < n; ++i) {
      const auto own = mean.segment(first + group.group[static_cast<std::size_t>(i)] * q, q);
      out.all(i) += group.z.cols() > 0 ? group.z.row(i).dot(own) : own(0);
    }
    first += static_cast<Index>(source.mixed->effect_names(t).size());
  }
  return out;
}

constexpr const char* kSeparated =
    "the classes are separated: a combination of the predictors tells them apart without error, so that "
    "coefficients are as large as their priors allow; choose these with care";
constexpr const char* kSeparatedByGroups =
    "the classes are separated: predictors and group effects together tell them apart without error, so that "
    "coefficients and the sds of groups are as large as their priors allow; choose these with care";

}  // namespace

std::vector<std::string> remarks(const ModelSource& source, const Gaussian& posterior) {
  if (!source.rows || !source.spec || !source.spec->two_classes()) return {};
  const Vector& response = source.rows->response;
  if (source.mixed) {
    const GroupPredictors eta =
        mean_group_predictors(source, source.reporter->joint_draws(posterior)->values);
    if (separates(eta.coefficients, response)) return {kSeparated};
    if (separates(eta.all, response)) return {kSeparatedByGroups};
    return {};
  }
  const Regression* regression = regression_of(source.model.get());
  if (regression == nullptr) return {};
  if (!separates(mean_predictor(*source.rows, *regression, posterior), response)) return {};
  return {kSeparated};
}

}  // namespace magva::source
