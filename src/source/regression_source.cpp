#include "source/regression_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/atomic_file.hpp"
#include "magva/error.hpp"
#include "source/default_priors.hpp"
#include "source/formula_reporter.hpp"
#include "table/message.hpp"

namespace magva::source {

namespace {

/// How a coordinate is shown: hyper-parameters live on a log or logit scale and are reported on their own.
struct Shown {
  std::string name;
  double (*transform)(double);
};

Shown shown(const std::string& coordinate) {
  if (coordinate.starts_with("log_")) return {coordinate.substr(4), [](double v) { return std::exp(v); }};
  if (coordinate == "logit_psi")
    return {"psi", [](double v) { return AutoregressivePriorOptions{}.psi_limit / (1 + std::exp(-v)); }};
  return {coordinate, nullptr};
}

std::string coefficient_name(const ModelSpec& spec, const std::vector<std::string>& names, Index i) {
  return spec.spline ? fmt::format("beta[{}]", i + 1) : names[static_cast<std::size_t>(i)];
}

/// How the columns of a design follow from the table's: (x - centre) / scale. Coefficients of x itself are
/// those of the column divided by its scale, and the intercept is moved to x = 0.
struct ColumnScales {
  Vector centre, scale;

  bool identity() const { return centre.isZero(0) && (scale.array() == 1).all(); }
};

ColumnScales column_scales(const table::DesignSpec& design) {
  const auto k = static_cast<Index>(design.names().size());
  ColumnScales out{Vector::Zero(k), Vector::Ones(k)};
  Index column = 1;
  for (const table::Term& term : design.terms) {
    if (const auto* number = std::get_if<table::NumberTerm>(&term.encoding)) {
      out.centre(column) = number->mean;
      out.scale(column) = number->sd;
    }
    column += static_cast<Index>(term.names().size());
  }
  if (design.features)
    for (const double scale : design.features->scales) out.scale(column++) = scale;
  return out;
}

/// The coefficients by name, then the hyper-parameters.
class RegressionReporter final : public Reporter {
 public:
  RegressionReporter(ModelSpec spec, std::shared_ptr<const Regression> model)
      : spec_(std::move(spec)), model_(std::move(model)), scales_(column_scales(spec_.design)) {
    own_scale_ = spec_.spline.has_value() || scales_.identity();
  }

  std::vector<Quantity> quantities() const override {
    std::vector<Quantity> all;
    const std::vector<std::string> names = spec_.design.names();
    const Index k = model_->coefficient_count();
    for (Index i = 0; i < k; ++i) {
      const bool coordinate = (i == 0 && own_scale_) || spec_.coefficients_are_coordinates();
      all.push_back({coefficient_name(spec_, names, i), std::nullopt});
      if (coordinate && own_scale_) all.back().coordinate = i;
      if (coordinate && !own_scale_) all.back().combination = combination(i);
    }
    for (Index i = k; i < model_->dimension(); ++i) {
      const Shown as = shown(model_->parameter_name(i));
      all.push_back({as.name, as.transform == nullptr ? std::optional(i) : std::nullopt});
    }
    return all;
  }

  Matrix report(ConstMatrixRef theta, std::uint64_t /*seed*/) const override {
    const Index k = model_->coefficient_count();
    Matrix out = theta;
    for (Index s = 0; s < theta.cols(); ++s) {
      model_->coefficients(theta.col(s), out.col(s).head(k));
      if (own_scale_) continue;
      out.col(s).head(k).array() /= scales_.scale.array();
      out(0, s) -= scales_.centre.dot(out.col(s).head(k));
    }
    for (Index i = k; i < out.rows(); ++i)
      if (const Shown as = shown(model_->parameter_name(i)); as.transform != nullptr)
        out.row(i) = out.row(i).unaryExpr(as.transform).eval();
    return out;
  }

 private:
  /// A coefficient on the table's own scale in terms of those of the design.
  std::vector<std::pair<Index, double>> combination(Index i) const {
    if (i > 0) return {{i, 1 / scales_.scale(i)}};
    std::vector<std::pair<Index, double>> out = {{0, 1.0}};
    for (Index j = 1; j < scales_.centre.size(); ++j)
      if (scales_.centre(j) != 0) out.emplace_back(j, -scales_.centre(j) / scales_.scale(j));
    return out;
  }

  ModelSpec spec_;
  std::shared_ptr<const Regression> model_;
  ColumnScales scales_;
  bool own_scale_ = true;  ///< the columns of the design are those of the table
};

/// The model's own start, with the coordinates that a JSON object {"name": value, ...} gives set to these
/// values.
Vector read_start_file(const Model& model, const std::string& file) {
  const auto json = nlohmann::json::parse(io::read_text(file), nullptr, false);
  if (!json.is_object())
    throw DataError(
        fmt::format("'{}' is no start: it must be a JSON object of parameter names and numbers", file));
  std::map<std::string, Index> coordinates;
  std::vector<std::string> names;
  for (Index i = 0; i < model.dimension(); ++i) {
    names.push_back(model.parameter_name(i));
    coordinates.emplace(names.back(), i);
  }
  Vector start = model.start();
  for (const auto& [name, value] : json.items()) {
    const auto found = coordinates.find(name);
    if (found == coordinates.end())
      throw DataError(fmt::format("'{}' names '{}', which is no parameter{}", file, name,
                                  table::suggestion(name, names)));
    if (!value.is_number())
      throw DataError(fmt::format("'{}' gives '{}' a value that is no number", file, name));
    start(found->second) = value.get<double>();
  }
  return start;
}

std::shared_ptr<const Minibatch> minibatch_of(const std::shared_ptr<const Regression>& regression,
                                              const RegressionOptions& options) {
  if (!options.batch) return nullptr;
  MinibatchOptions minibatch;
  minibatch.rows = *options.batch;
  minibatch.run = minibatch_run(*regression);
  minibatch.seed = options.seed;
  return std::make_shared<Minibatch>(regression, minibatch);
}

Index affordable_draws(const Regression& regression) {
  constexpr Index kProducts = 125'000'000'000;  // entries of the design times draws
  constexpr Index kFewest = 100;
  return std::clamp(kProducts / regression.design().entries(), kFewest, ModelSource{}.diagnostic_draws);
}

}  // namespace

ModelSpec model_spec_for(RegressionOptions options, RegressionKind model) {
  options.model = model;
  options.validate();
  ModelSpec spec;
  spec.model = model;
  spec.prior = options.prior;
  spec.form = options.form;
  if (options.prior_variance) spec.prior_variance = *options.prior_variance;
  if (model == RegressionKind::pspline)
    spec.spline = SplineSpec{.covariate = options.covariate, .functions = options.basis_functions};
  return spec;
}

void set_default_priors(ModelSpec& spec, const RegressionData& data) {
  set_default_priors(spec, design_moments(data.design), data.response);
}

void set_default_priors(ModelSpec& spec, const DesignMoments& moments, const Vector& response) {
  const PredictorScale scale = spec.model == RegressionKind::linear    ? identity_scale(response)
                               : spec.model == RegressionKind::poisson ? log_scale(response)
                                                                       : PredictorScale{0, kPriorScale};
  const IndependentPriors priors = default_priors(moments, scale, false);
  if (spec.prior == PriorKind::normal)
    spec.priors = priors;
  else
    spec.prior_variance = std::pow(priors.location(0), 2) + std::pow(priors.scale(0), 2);
}

namespace {

/// On the scale of the table, as the quantities are.
std::vector<PriorRecord> table_prior_records(const ModelSpec& spec) {
  const std::vector<std::string> names = spec.design.names();
  if (spec.spline) return {};
  const auto k = static_cast<Index>(names.size());
  IndependentPriors priors{Vector::Zero(k), Vector::Constant(k, std::sqrt(spec.prior_variance)), Vector()};
  if (spec.prior == PriorKind::horseshoe) {
    std::vector<PriorRecord> records = {{names[0], prior_text(priors, 0), 0, priors.scale(0)}};
    for (Index j = 1; j < k; ++j)
      records.push_back({names[static_cast<std::size_t>(j)], "horseshoe", 0, std::nullopt});
    return records;
  }
  if (spec.priors) priors = *spec.priors;
  const ColumnScales scales = column_scales(spec.design);
  priors.location.array() /= scales.scale.array();
  priors.scale.array() /= scales.scale.array();
  std::vector<PriorRecord> records = prior_records(priors, names);
  if (!scales.centre.isZero(0)) {
    records[0].text += " at the predictors' means";
    records[0].scale.reset();
  }
  return records;
}

}  // namespace

void set_regression(ModelSource& source, std::shared_ptr<const Regression> model,
                    const RegressionOptions& options) {
  source.minibatch = minibatch_of(model, options);
  source.start = options.start_file ? read_start_file(*model, *options.start_file) : model->start();
  source.diagnostic_draws = affordable_draws(*model);
  source.model = std::move(model);
}

ModelSource make_regression_source(ModelSpec spec, Regression regression, const RegressionOptions& options) {
  const auto model = std::make_shared<const Regression>(std::move(regression));
  ModelSource source;
  set_regression(source, model, options);
  source.reporter = std::make_shared<RegressionReporter>(spec, model);
  source.description = fmt::format("{}, {} coefficients, {} parameters in all, {} rows", spec.description(),
                                   model->coefficient_count(), model->dimension(), model->rows());
  source.priors = table_prior_records(spec);
  source.spec = std::move(spec);
  return source;
}

std::unique_ptr<Reporter> make_reporter(const ModelSpec& spec) {
  if (spec.formula) return make_stored_reporter(spec.formula);
  return std::make_unique<RegressionReporter>(spec,
                                              std::make_shared<const Regression>(model_without_data(spec)));
}

}  // namespace magva::source
