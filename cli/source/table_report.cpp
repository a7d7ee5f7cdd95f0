#include "source/table_report.hpp"

#include <fmt/format.h>

#include <cmath>

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

std::string coefficient_name(const Recipe& recipe, const std::vector<std::string>& names, Index i) {
  return recipe.spline ? fmt::format("beta[{}]", i + 1) : names[static_cast<std::size_t>(i)];
}

class TableReporter final : public Reporter {
 public:
  explicit TableReporter(Recipe recipe) : recipe_(std::move(recipe)), model_(model_without_data(recipe_)) {}
  std::vector<Quantity> quantities() const override { return table_quantities(recipe_, model_); }
  Matrix report(ConstMatrixRef theta, std::uint64_t /*seed*/) const override {
    return table_report(model_, theta);
  }

 private:
  Recipe recipe_;
  Regression model_;
};

}  // namespace

std::vector<Quantity> table_quantities(const Recipe& recipe, const Regression& model) {
  std::vector<Quantity> all;
  const std::vector<std::string> names = recipe.design.names();
  const Index k = model.coefficient_count();
  for (Index i = 0; i < k; ++i) {
    const bool coordinate = i == 0 || recipe.coefficients_are_coordinates();
    all.push_back({coefficient_name(recipe, names, i), coordinate ? std::optional(i) : std::nullopt});
  }
  for (Index i = k; i < model.dimension(); ++i) {
    const Shown as = shown(model.parameter_name(i));
    all.push_back({as.name, as.transform == nullptr ? std::optional(i) : std::nullopt});
  }
  return all;
}

Matrix table_report(const Regression& model, ConstMatrixRef theta) {
  const Index k = model.coefficient_count();
  Matrix out = theta;
  for (Index s = 0; s < theta.cols(); ++s) model.coefficients(theta.col(s), out.col(s).head(k));
  for (Index i = k; i < out.rows(); ++i)
    if (const Shown as = shown(model.parameter_name(i)); as.transform != nullptr)
      out.row(i) = out.row(i).unaryExpr(as.transform).eval();
  return out;
}

std::unique_ptr<Reporter> make_table_reporter(Recipe recipe) {
  return std::make_unique<TableReporter>(std::move(recipe));
}

}  // namespace magva::source
