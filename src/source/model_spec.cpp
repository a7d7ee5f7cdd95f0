#include "source/model_spec.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "magva/error.hpp"
#include "magva/formula_model.hpp"
#include "magva/priors.hpp"
#include "magva/regression.hpp"
#include "source/default_priors.hpp"
#include "source/formula_reporter.hpp"
#include "table/design_file.hpp"
#include "table/design_spec.hpp"
#include "table/message.hpp"

namespace magva::source {

namespace {

using Json = nlohmann::json;

template <class Enum>
using Names = std::vector<std::pair<Enum, std::string>>;

const Names<RegressionKind>& regression_names() {
  static const Names<RegressionKind> names = {{RegressionKind::logistic, "logistic"},
                                              {RegressionKind::linear, "linear"},
                                              {RegressionKind::poisson, "poisson"},
                                              {RegressionKind::pspline, "pspline"}};
  return names;
}

const Names<PriorKind>& prior_names() {
  static const Names<PriorKind> names = {{PriorKind::normal, "normal"}, {PriorKind::horseshoe, "horseshoe"}};
  return names;
}

const Names<HorseshoeForm>& form_names() {
  static const Names<HorseshoeForm> names = {{HorseshoeForm::noncentred, "noncentred"},
                                             {HorseshoeForm::centred, "centred"}};
  return names;
}

template <class Enum>
std::string name_of(const Names<Enum>& names, Enum wanted) {
  for (const auto& [value, name] : names)
    if (value == wanted) return name;
  throw std::logic_error("a value without a name");
}

template <class Enum>
Enum parse(const Names<Enum>& names, const std::string& text, const char* what) {
  std::vector<std::string> known;
  for (const auto& [value, name] : names) {
    if (name == text) return value;
    known.push_back(name);
  }
  throw UsageError(fmt::format("there is no {} '{}': choose one of {}", what, text,
                               table::name_list(known, known.size())));
}

SparseMatrix engine_matrix(const table::SparseRowMatrix& x) {
  SparseMatrix out;
  out.cols = x.cols();
  out.columns.reserve(static_cast<std::size_t>(x.nonZeros()));
  out.values.reserve(static_cast<std::size_t>(x.nonZeros()));
  for (Index row = 0; row < x.rows(); ++row) {
    for (table::SparseRowMatrix::InnerIterator entry(x, row); entry; ++entry) {
      out.columns.push_back(static_cast<std::int32_t>(entry.col()));
      out.values.push_back(entry.value());
    }
    out.starts.push_back(static_cast<std::int64_t>(out.values.size()));
  }
  return out;
}

PriorOptions prior_options(const ModelSpec& spec) {
  if (spec.prior == PriorKind::normal) return NormalPriorOptions{.variance = spec.prior_variance};
  return HorseshoeOptions{.form = spec.form, .intercept_variance = spec.prior_variance, .start_log_tau = {}};
}

Json to_json(const Vector& values) { return std::vector<double>(values.begin(), values.end()); }

Vector vector_from(const Json& json) {
  const auto values = json.get<std::vector<double>>();
  return Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size()));
}

Json to_json(const IndependentPriors& priors) {
  return {{"location", to_json(priors.location)}, {"scale", to_json(priors.scale)}};
}

IndependentPriors priors_from_json(const Json& json) {
  return {vector_from(json.at("location")), vector_from(json.at("scale")), Vector()};
}

/// The likelihood with the scale that the response has.
std::shared_ptr<const Likelihood> likelihood_for(RegressionKind model, const Vector& response) {
  if (model == RegressionKind::logistic) return bernoulli_logit();
  if (model == RegressionKind::poisson) return poisson_log();
  return gaussian(identity_scale(response).scale / kPriorScale);
}

// The design has an intercept and the covariate.
Vector covariate(const table::EncodedRows& rows) { return rows.x.col(1); }

}  // namespace

std::string to_string(RegressionKind kind) { return name_of(regression_names(), kind); }
std::string to_string(PriorKind kind) { return name_of(prior_names(), kind); }
std::string to_string(HorseshoeForm form) { return name_of(form_names(), form); }
RegressionKind parse_regression_kind(const std::string& name) {
  return parse(regression_names(), name, "regression");
}
PriorKind parse_prior_kind(const std::string& name) { return parse(prior_names(), name, "prior"); }
HorseshoeForm parse_horseshoe_form(const std::string& name) {
  return parse(form_names(), name, "form of the horseshoe");
}

void RegressionOptions::validate() const {
  if (prior_variance && !(*prior_variance > 0)) throw UsageError("prior_variance: must be positive");
  if (batch && *batch < 1) throw UsageError("batch: must be at least 1");
  const bool spline = model == RegressionKind::pspline;
  if (spline && covariate.empty()) throw UsageError("a P-spline needs the column of its covariate");
  if (!spline && !covariate.empty()) throw UsageError("covariate: only a P-spline has one");
  if (spline && basis_functions < 5) throw UsageError("basis_functions: must be at least 5");
  if (spline && (single_precision || save_design))
    throw UsageError("a P-spline's design is made anew from its covariate: it cannot be saved or shortened");
}

bool ModelSpec::coefficients_are_coordinates() const {
  return prior != PriorKind::horseshoe || form == HorseshoeForm::centred;
}

bool ModelSpec::two_classes() const {
  return formula ? formula->family == Distribution::bernoulli : model == RegressionKind::logistic;
}

const std::vector<std::string>& ModelSpec::classes() const {
  return formula ? formula->design.response.classes : design.response.classes;
}

std::string ModelSpec::response_name() const {
  return formula ? formula->design.response.name : design.response.column;
}

std::map<std::string, table::ColumnKind> ModelSpec::column_kinds() const {
  return formula ? formula->design.column_kinds() : design.column_kinds();
}

std::string ModelSpec::description() const {
  if (formula) return formula->description();
  if (spline)
    return fmt::format("robust P-spline regression with {} basis functions of '{}'", spline->functions,
                       spline->covariate);
  const std::string name = model == RegressionKind::poisson ? "Poisson" : to_string(model);
  if (priors) return fmt::format("{} regression with priors on the scale of the data", name);
  if (prior == PriorKind::normal)
    return fmt::format("{} regression with a normal prior of variance {}", name, prior_variance);
  return fmt::format("{} regression with a horseshoe prior", name);
}

Json to_json(const ModelSpec& spec) {
  if (spec.formula) return {{"formula_model", to_json(*spec.formula)}};
  Json json = {{"model", to_string(spec.model)},
               {"prior", to_string(spec.prior)},
               {"horseshoe", to_string(spec.form)},
               {"prior_variance", spec.prior_variance},
               {"design", table::to_json(spec.design)}};
  if (spec.priors) json["priors"] = to_json(*spec.priors);
  if (spec.spline)
    json["spline"] = {{"covariate", spec.spline->covariate},
                      {"functions", spec.spline->functions},
                      {"lower", spec.spline->lower},
                      {"upper", spec.spline->upper}};
  return json;
}

ModelSpec model_spec_from_json(const Json& json, const std::string& origin) {
  try {
    ModelSpec spec;
    if (json.contains("formula_model")) {
      spec.formula = std::make_shared<const FormulaModel>(formula_model_from_json(json["formula_model"]));
      return spec;
    }
    spec.model = parse_regression_kind(json.at("model"));
    spec.prior = parse_prior_kind(json.at("prior"));
    spec.form = parse_horseshoe_form(json.at("horseshoe"));
    spec.prior_variance = json.at("prior_variance");
    if (json.contains("priors")) spec.priors = priors_from_json(json["priors"]);
    spec.design = table::design_spec_from_json(json.at("design"));
    if (json.contains("spline")) {
      const Json& spline = json["spline"];
      spec.spline =
          SplineSpec{spline.at("covariate"), spline.at("functions"), spline.at("lower"), spline.at("upper")};
    }
    return spec;
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("'{}' is no model of a fit: {}", origin, error.what()));
  } catch (const UsageError& error) {
    throw DataError(fmt::format("'{}' is no model of a fit: {}", origin, error.what()));
  }
}

table::ResponseKind response_kind(RegressionKind model) {
  return model == RegressionKind::logistic  ? table::ResponseKind::binary
         : model == RegressionKind::poisson ? table::ResponseKind::count
                                            : table::ResponseKind::real;
}

RegressionKind regression_for(table::ResponseKind kind) {
  return kind == table::ResponseKind::binary  ? RegressionKind::logistic
         : kind == table::ResponseKind::count ? RegressionKind::poisson
                                              : RegressionKind::linear;
}

Design engine_design(const ModelSpec& spec, table::EncodedRows rows) {
  if (spec.spline) {
    const SplineSpec& s = *spec.spline;
    return Design::own(BSplineBasis(s.functions, PsplineOptions{}.degree, s.lower, s.upper)(covariate(rows)));
  }
  if (spec.design.sparse()) return Design::own(engine_matrix(rows.sparse_x));
  return Design::own(std::move(rows.x));
}

Regression build_regression(const ModelSpec& spec, RegressionData data) {
  if (spec.priors) {
    const auto likelihood = likelihood_for(spec.model, data.response);
    const Index k = spec.priors->size();
    return {std::move(data), likelihood,
            make_prior({{0, k, NormalBlock{spec.priors->location, spec.priors->scale}}}, k)};
  }
  if (spec.model == RegressionKind::logistic)
    return logistic_regression(std::move(data), prior_options(spec));
  if (spec.model == RegressionKind::poisson) return poisson_regression(std::move(data), prior_options(spec));
  return linear_regression(std::move(data), prior_options(spec));
}

Regression build_pspline(const ModelSpec& spec, const table::EncodedRows& rows) {
  PsplineOptions options;
  options.functions = spec.spline->functions;
  options.lower = spec.spline->lower;
  options.upper = spec.spline->upper;
  return pspline_regression(covariate(rows), rows.y, rows.weights, options).model;
}

Regression model_without_data(const ModelSpec& spec) {
  if (spec.formula) return formula_without_data(*spec.formula);
  table::EncodedRows row;
  row.y = Vector::Zero(1);  // which every likelihood allows
  const std::vector<std::string> names = spec.design.names();
  const auto columns = static_cast<Index>(names.size());
  if (spec.spline) {
    row.x = RowMatrix::Constant(1, columns, spec.spline->lower);
    return build_pspline(spec, row);
  }
  if (spec.design.sparse()) {
    row.sparse_x.resize(1, columns);
    row.sparse_x.insert(0, 0) = 1;
    row.sparse_x.makeCompressed();
  } else {
    row.x = RowMatrix::Ones(1, columns);
  }
  return build_regression(spec, {engine_design(spec, std::move(row)), Vector::Zero(1), Vector(), names});
}

}  // namespace magva::source
