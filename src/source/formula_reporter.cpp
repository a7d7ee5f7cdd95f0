#include "source/formula_reporter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

#include "magva/error.hpp"
#include "magva/family_regression.hpp"
#include "magva/workers.hpp"
#include "source/class_reporter.hpp"

namespace magva::source {

std::vector<std::string> effect_names(const formula::FormulaSpec& spec, const formula::GroupSpec& group) {
  std::vector<std::string> names = spec.names(group.effects);
  for (std::string& name : names)
    if (name == table::kIntercept) name = "Intercept";
  return names;
}

std::vector<std::string> coefficient_names(const FormulaModel& model) {
  std::vector<std::string> names = model.design.names();
  for (const formula::SmoothSpec& smooth : model.design.smooths)
    for (Index k = 1; k <= smooth.columns(); ++k) names.push_back(fmt::format("{}[{}]", smooth.name, k));
  return names;
}

void to_own_scale(const FormulaModel& model, Matrix& coefficients) {
  const formula::FormulaSpec& design = model.design;
  const auto fixed = static_cast<Index>(design.names().size());
  for (Index j = 0; j < fixed; ++j) {
    if (design.scale(j) != 1) coefficients.row(j) /= design.scale(j);
    if (design.centre(j) != 0) coefficients.row(0) -= design.centre(j) * coefficients.row(j);
  }
}

void to_design_scale(const FormulaModel& model, Matrix& coefficients) {
  const formula::FormulaSpec& design = model.design;
  const auto fixed = static_cast<Index>(design.names().size());
  for (Index j = 0; j < fixed; ++j) {
    if (design.centre(j) != 0) coefficients.row(0) += design.centre(j) * coefficients.row(j);
    if (design.scale(j) != 1) coefficients.row(j) *= design.scale(j);
  }
}

namespace {

/// P(y <= k) depends on c_k - (x - centre)' b: the cut points for x itself are c_k + centre' b.
void ordered_to_own_scale(const FormulaModel& model, Matrix& population) {
  const Index coefficients = model.design.centre.size() - 1;
  const auto cuts = static_cast<Index>(model.design.response.classes.size()) - 1;
  Matrix with_intercept = Matrix::Zero(coefficients + 1, population.cols());
  with_intercept.bottomRows(coefficients) = population.topRows(coefficients);
  to_own_scale(model, with_intercept);
  population.topRows(coefficients) = with_intercept.bottomRows(coefficients);
  population.middleRows(coefficients, cuts).rowwise() -= with_intercept.row(0);
}

}  // namespace

void population_to_own_scale(const FormulaModel& model, Matrix& population) {
  if (model.family == Distribution::ordered) return ordered_to_own_scale(model, population);
  const Index columns = model.design.centre.size();
  const auto predictors = static_cast<Index>(predictor_prefixes(model).size());
  for (Index c = 0; c < predictors; ++c) {
    Matrix coefficients = population.middleRows(c * columns, columns);
    to_own_scale(model, coefficients);
    population.middleRows(c * columns, columns) = coefficients;
  }
}

Regression formula_without_data(const FormulaModel& model) {
  const Index columns = model.design.centre.size();
  RegressionData data{
      Design::own(RowMatrix(RowMatrix::Ones(1, columns))), Vector::Ones(1), {}, coefficient_names(model)};
  if (model.family == Distribution::binomial) data.trials = Vector::Ones(1);
  return {std::move(data), make_likelihood(model.response_family()), model.coefficient_prior()};
}

namespace {

/// "log_sigma" is shown as sigma, and the sd of a smooth term, "log_sd[s(x)]", as sd(s(x)).
std::string shown_name(const std::string& coordinate) {
  if (!coordinate.starts_with("log_")) return coordinate;
  if (coordinate.starts_with("log_sd[")) return "sd(" + coordinate.substr(7, coordinate.size() - 8) + ")";
  return coordinate.substr(4);
}

class PlainReporter final : public Reporter {
 public:
  PlainReporter(std::shared_ptr<const FormulaModel> model, std::shared_ptr<const Regression> regression)
      : model_(std::move(model)),
        regression_(std::move(regression)),
        coefficients_(regression_->coefficient_count()),
        coordinates_(model_->horseshoes.empty()) {}

  std::vector<Quantity> quantities() const override {
    const std::vector<std::string> names = coefficient_names(*model_);
    std::vector<Quantity> all;
    for (Index j = 0; j < coefficients_; ++j) {
      all.push_back({names[static_cast<std::size_t>(j)], std::nullopt});
      if (!coordinates_) continue;
      all.back().combination = combination(j);
    }
    for (Index i = coefficients_; i < regression_->dimension(); ++i) {
      const std::string name = regression_->parameter_name(i);
      all.push_back({shown_name(name), std::nullopt});
      (name.starts_with("log_") ? all.back().logarithm : all.back().coordinate) = i;
    }
    return all;
  }

  Matrix report(ConstMatrixRef theta, std::uint64_t /*seed*/) const override {
    Matrix out = theta;
    for (Index s = 0; s < theta.cols(); ++s)
      regression_->coefficients(theta.col(s), out.col(s).head(coefficients_));
    to_own_scale(*model_, out);
    for (Index i = coefficients_; i < out.rows(); ++i)
      if (regression_->parameter_name(i).starts_with("log_")) out.row(i) = out.row(i).array().exp().eval();
    return out;
  }

 private:
  /// A coefficient of the formula's own column in terms of those of the design.
  std::vector<std::pair<Index, double>> combination(Index j) const {
    const formula::FormulaSpec& design = model_->design;
    std::vector<std::pair<Index, double>> out = {{j, 1 / design.scale(j)}};
    if (j > 0 || !design.fixed.intercept) return out;
    for (Index k = 1; k < static_cast<Index>(design.names().size()); ++k)
      if (design.centre(k) != 0) out.emplace_back(k, -design.centre(k) / design.scale(k));
    return out;
  }

  std::shared_ptr<const FormulaModel> model_;
  std::shared_ptr<const Regression> regression_;
  Index coefficients_;
  bool coordinates_;
};

class GroupReporter final : public Reporter {
 public:
  GroupReporter(std::shared_ptr<const FormulaModel> model, std::shared_ptr<const MixedModel> mixed)
      : model_(std::move(model)), mixed_(std::move(mixed)) {}

  std::vector<Quantity> quantities() const override {
    std::vector<Quantity> all;
    for (std::string& name : mixed_->population_names()) all.push_back({std::move(name), std::nullopt});
    for (std::size_t t = 0; t < mixed_->term_count(); ++t)
      for (std::string& name : mixed_->effect_names(t)) all.push_back({std::move(name), std::nullopt});
    return all;
  }

  Matrix report(ConstMatrixRef theta, std::uint64_t seed) const override {
    Workers workers(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
    MixedDraws draws = mixed_->draw(theta, seed, workers);
    population_to_own_scale(*model_, draws.population);
    Index rows = draws.population.rows();
    for (const Matrix& effects : draws.effects) rows += effects.rows();
    Matrix out(rows, theta.cols());
    out.topRows(draws.population.rows()) = draws.population;
    Index at = draws.population.rows();
    for (const Matrix& effects : draws.effects) {
      out.middleRows(at, effects.rows()) = effects;
      at += effects.rows();
    }
    return out;
  }

  void keep(const Gaussian& posterior, Matrix theta) const {
    kept_for_ = posterior.mean();
    kept_ = std::move(theta);
  }

  /// Importance resampled: the marginal distributions of sds are skewed.
  std::shared_ptr<const JointDraws> joint_draws(const Gaussian& posterior) const override {
    if (joint_ && mean_of_joint_ == posterior.mean()) return joint_;
    auto joint = std::make_shared<JointDraws>();
    for (Quantity& quantity : quantities()) joint->names.push_back(std::move(quantity.name));
    Index draws = kMostGroupValues / static_cast<Index>(joint->names.size());
    // By quadrature a draw looks at all rows as often as an evaluation.
    if (mixed_->method() == MixedMethod::quadrature)
      draws = std::min(draws, static_cast<Index>(kWorkOfGroupDraws / mixed_->work()));
    draws = std::clamp(draws, kFewestGroupDraws, kGroupDraws);
    joint->values = report(theta_draws(posterior, draws), 1);
    mean_of_joint_ = posterior.mean();
    joint_ = std::move(joint);
    return joint_;
  }

 private:
  static constexpr Index kGroupDraws = 1000;
  static constexpr Index kFewestGroupDraws = 200;
  static constexpr Index kMostGroupValues = 20'000'000;
  static constexpr double kWorkOfGroupDraws = 6e10;  ///< multiplications

  /// Of those that were kept, as many as are wanted, evenly spaced.
  Matrix theta_draws(const Gaussian& posterior, Index draws) const {
    if (kept_.cols() < draws || kept_for_ != posterior.mean())
      return resample_mixed(*mixed_, posterior, draws, 1, 0).theta;
    Matrix out(kept_.rows(), draws);
    for (Index s = 0; s < draws; ++s) out.col(s) = kept_.col(s * kept_.cols() / draws);
    return out;
  }

  std::shared_ptr<const FormulaModel> model_;
  std::shared_ptr<const MixedModel> mixed_;
  // Drawing takes longer than fitting for many groups: it is done once per fit.
  mutable std::shared_ptr<const JointDraws> joint_;
  mutable Vector mean_of_joint_;
  mutable Matrix kept_;
  mutable Vector kept_for_;
};

/// The draws that a fit with groups has stored, in a random order and as many as are asked for.
class StoredDrawsReporter final : public Reporter {
 public:
  explicit StoredDrawsReporter(std::shared_ptr<const JointDraws> draws) : draws_(std::move(draws)) {}

  std::vector<Quantity> quantities() const override {
    std::vector<Quantity> all;
    for (const std::string& name : draws_->names) all.push_back({name, std::nullopt});
    return all;
  }

  Matrix report(ConstMatrixRef theta, std::uint64_t seed) const override {
    const Index stored = draws_->values.cols();
    if (theta.cols() > stored)
      throw UsageError(fmt::format("the fit has stored {} draws of its parameters: ask for no more", stored));
    std::vector<Index> order(static_cast<std::size_t>(stored));
    std::iota(order.begin(), order.end(), Index{0});
    std::mt19937_64 generator(seed);
    std::shuffle(order.begin(), order.end(), generator);
    Matrix out(draws_->values.rows(), theta.cols());
    for (Index s = 0; s < theta.cols(); ++s)
      out.col(s) = draws_->values.col(order[static_cast<std::size_t>(s)]);
    return out;
  }

  std::shared_ptr<const JointDraws> joint_draws(const Gaussian&) const override { return draws_; }

 private:
  std::shared_ptr<const JointDraws> draws_;
};

}  // namespace

std::unique_ptr<Reporter> make_plain_reporter(std::shared_ptr<const FormulaModel> model,
                                              std::shared_ptr<const Regression> regression) {
  return std::make_unique<PlainReporter>(std::move(model), std::move(regression));
}

std::unique_ptr<Reporter> make_group_reporter(std::shared_ptr<const FormulaModel> model,
                                              std::shared_ptr<const MixedModel> mixed) {
  return std::make_unique<GroupReporter>(std::move(model), std::move(mixed));
}

void keep_draws(const Reporter& reporter, const Gaussian& posterior, Matrix theta) {
  if (const auto* groups = dynamic_cast<const GroupReporter*>(&reporter))
    groups->keep(posterior, std::move(theta));
}

std::unique_ptr<Reporter> make_stored_reporter(std::shared_ptr<const FormulaModel> model) {
  if (model->grouped() || model->draws) return std::make_unique<StoredDrawsReporter>(model->draws);
  if (model->has_classes()) {
    auto classes = std::make_shared<const ClassRegression>(class_regression_without_data(*model));
    return make_class_reporter(std::move(model), std::move(classes));
  }
  auto regression = std::make_shared<const Regression>(formula_without_data(*model));
  return make_plain_reporter(std::move(model), std::move(regression));
}

}  // namespace magva::source
