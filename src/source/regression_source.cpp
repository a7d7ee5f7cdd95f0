#include "source/regression_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/atomic_file.hpp"
#include "magva/error.hpp"
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

/// The coefficients by name, then the hyper-parameters.
class RegressionReporter final : public Reporter {
 public:
  RegressionReporter(ModelSpec spec, std::shared_ptr<const Regression> model)
      : spec_(std::move(spec)), model_(std::move(model)) {}

  std::vector<Quantity> quantities() const override {
    std::vector<Quantity> all;
    const std::vector<std::string> names = spec_.design.names();
    const Index k = model_->coefficient_count();
    for (Index i = 0; i < k; ++i) {
      const bool coordinate = i == 0 || spec_.coefficients_are_coordinates();
      all.push_back({coefficient_name(spec_, names, i), coordinate ? std::optional(i) : std::nullopt});
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
    for (Index s = 0; s < theta.cols(); ++s) model_->coefficients(theta.col(s), out.col(s).head(k));
    for (Index i = k; i < out.rows(); ++i)
      if (const Shown as = shown(model_->parameter_name(i)); as.transform != nullptr)
        out.row(i) = out.row(i).unaryExpr(as.transform).eval();
    return out;
  }

 private:
  ModelSpec spec_;
  std::shared_ptr<const Regression> model_;
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
  spec.prior_variance = options.prior_variance;
  if (model == RegressionKind::pspline)
    spec.spline = SplineSpec{.covariate = options.covariate, .functions = options.basis_functions};
  return spec;
}

ModelSource make_regression_source(ModelSpec spec, Regression regression, const RegressionOptions& options) {
  const auto model = std::make_shared<const Regression>(std::move(regression));
  ModelSource source;
  source.model = model;
  source.minibatch = minibatch_of(model, options);
  source.reporter = std::make_shared<RegressionReporter>(spec, model);
  source.start = options.start_file ? read_start_file(*model, *options.start_file) : model->start();
  source.diagnostic_draws = affordable_draws(*model);
  source.description = fmt::format("{}, {} coefficients, {} parameters in all, {} rows", spec.description(),
                                   model->coefficient_count(), model->dimension(), model->rows());
  source.spec = std::move(spec);
  return source;
}

std::unique_ptr<Reporter> make_reporter(const ModelSpec& spec) {
  return std::make_unique<RegressionReporter>(spec,
                                              std::make_shared<const Regression>(model_without_data(spec)));
}

}  // namespace magva::source
