#include "source/class_reporter.hpp"

#include <fmt/format.h>

#include "source/formula_reporter.hpp"

namespace magva::source {

namespace {

Index class_count(const FormulaModel& model) {
  return static_cast<Index>(model.design.response.classes.size());
}

/// The prior of all columns but the intercept's.
FormulaModel without_intercept_prior(const FormulaModel& model) {
  FormulaModel out = model;
  const Index k = model.priors.size() - 1;
  out.priors = {model.priors.location.tail(k), model.priors.scale.tail(k),
                model.priors.degrees_of_freedom.tail(k)};
  for (FormulaModel::Horseshoe& horseshoe : out.horseshoes) --horseshoe.first;
  return out;
}

class ClassReporter final : public Reporter {
 public:
  ClassReporter(std::shared_ptr<const FormulaModel> model, std::shared_ptr<const ClassRegression> regression)
      : model_(std::move(model)), regression_(std::move(regression)) {}

  std::vector<Quantity> quantities() const override {
    std::vector<Quantity> all;
    const std::vector<std::string> names = class_coefficient_names(*model_);
    const std::vector<std::string>& classes = model_->design.response.classes;
    for (Index k = 0; k < regression_->predictors(); ++k)
      for (const std::string& name : names)
        all.push_back(
            {ordered() ? name : class_coefficient_name(classes[static_cast<std::size_t>(k + 1)], name),
             std::nullopt});
    for (std::size_t k = 1; ordered() && k < classes.size(); ++k) all.push_back({cut_name(k), std::nullopt});
    return all;
  }

  Matrix report(ConstMatrixRef theta, std::uint64_t /*seed*/) const override {
    Matrix out(static_cast<Index>(quantities().size()), theta.cols());
    for (Index s = 0; s < theta.cols(); ++s) {
      const Vector at = theta.col(s);
      out.col(s) = ordered() ? ordered_values(at) : categorical_values(at);
    }
    return out;
  }

 private:
  bool ordered() const { return model_->family == Distribution::ordered; }

  /// P(y <= k) depends on c_k - (x - centre)' b: the cut points for x itself are c_k + centre' b.
  Vector ordered_values(const Vector& theta) const {
    const Matrix design_scale = regression_->coefficients(theta);
    Matrix coefficients = Matrix::Zero(design_scale.rows() + 1, 1);
    coefficients.bottomRows(design_scale.rows()) = design_scale;
    to_own_scale(*model_, coefficients);
    Vector out(design_scale.rows() + class_count(*model_) - 1);
    out << coefficients.bottomRows(design_scale.rows()),
        regression_->cut_points(theta) - Vector::Constant(class_count(*model_) - 1, coefficients(0, 0));
    return out;
  }

  Vector categorical_values(const Vector& theta) const {
    Matrix coefficients = regression_->coefficients(theta);
    to_own_scale(*model_, coefficients);
    return Eigen::Map<const Vector>(coefficients.data(), coefficients.size());
  }

  std::shared_ptr<const FormulaModel> model_;
  std::shared_ptr<const ClassRegression> regression_;
};

}  // namespace

std::string cut_name(std::size_t k) { return fmt::format("cut[{}]", k); }

std::string class_coefficient_name(const std::string& name_of_class, const std::string& coefficient) {
  return name_of_class + ": " + coefficient;
}

std::vector<std::string> predictor_prefixes(const FormulaModel& model) {
  if (model.family != Distribution::categorical) return {""};
  std::vector<std::string> prefixes;
  for (std::size_t k = 1; k < model.design.response.classes.size(); ++k)
    prefixes.push_back(class_coefficient_name(model.design.response.classes[k], ""));
  return prefixes;
}

std::vector<std::string> class_coefficient_names(const FormulaModel& model) {
  std::vector<std::string> names = coefficient_names(model);
  if (model.family == Distribution::ordered) names.erase(names.begin());
  return names;
}

ClassRegression make_class_regression(const FormulaModel& model, RegressionData data) {
  if (model.family == Distribution::ordered)
    return ordered_regression(std::move(data), class_count(model),
                              without_intercept_prior(model).coefficient_prior());
  return categorical_regression(std::move(data), class_count(model), model.coefficient_prior());
}

ClassRegression class_regression_without_data(const FormulaModel& model) {
  const Index classes = class_count(model);
  const auto columns = static_cast<Index>(class_coefficient_names(model).size());
  RegressionData data{Design::own(RowMatrix(RowMatrix::Ones(classes, columns))),
                      Vector::LinSpaced(classes, 0, static_cast<double>(classes - 1)),
                      {},
                      class_coefficient_names(model)};
  return make_class_regression(model, std::move(data));
}

std::unique_ptr<Reporter> make_class_reporter(std::shared_ptr<const FormulaModel> model,
                                              std::shared_ptr<const ClassRegression> regression) {
  return std::make_unique<ClassReporter>(std::move(model), std::move(regression));
}

}  // namespace magva::source
