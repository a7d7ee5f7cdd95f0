#include "source/table_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "input/design.hpp"
#include "input/nearest_name.hpp"
#include "input/read_table.hpp"
#include "magva/error.hpp"
#include "magva/model/minibatch.hpp"
#include "source/choose_model.hpp"
#include "source/read_options.hpp"
#include "source/recipe.hpp"
#include "source/start_file.hpp"
#include "source/table_report.hpp"

namespace magva::source {

namespace {

class TableSource final : public ModelSource {
 public:
  TableSource(Recipe recipe, Regression model, const options::Values& values, DataRecord data,
              std::vector<std::string> notes)
      : recipe_(std::move(recipe)),
        full_(std::make_shared<Regression>(std::move(model))),
        sampled_(sampled(full_, values)),
        start_(values.given("init") ? read_start_file(*full_, values.text("init")) : full_->start()),
        data_(std::move(data)),
        notes_(std::move(notes)) {}

  const Model& model() const override { return sampled_ ? static_cast<const Model&>(*sampled_) : *full_; }
  const Model& full_model() const override { return *full_; }
  Vector start() const override { return start_; }
  DataRecord data() const override { return data_; }
  std::vector<std::string> notes() const override { return notes_; }
  nlohmann::json for_prediction() const override { return to_json(recipe_); }
  std::string description() const override {
    return fmt::format("{}, {} coefficients, {} parameters in all, {} rows", recipe_.description(),
                       full_->coefficient_count(), full_->dimension(), full_->rows());
  }

  std::vector<Quantity> quantities() const override { return table_quantities(recipe_, *full_); }
  Matrix report(ConstMatrixRef theta, std::uint64_t /*seed*/) const override {
    return table_report(*full_, theta);
  }

 private:
  static std::unique_ptr<const Minibatch> sampled(const std::shared_ptr<const Regression>& full,
                                                  const options::Values& values) {
    if (!values.given("batch")) return nullptr;
    MinibatchOptions options;
    options.rows = values.integer("batch");
    options.seed = static_cast<std::uint64_t>(values.integer("seed"));
    return std::make_unique<Minibatch>(full, options);
  }

  Recipe recipe_;
  std::shared_ptr<const Regression> full_;
  std::unique_ptr<const Minibatch> sampled_;  ///< with --batch
  Vector start_;
  DataRecord data_;
  std::vector<std::string> notes_;
};

std::string response_name(const options::Values& values, const input::Table& table) {
  if (values.given("response")) return values.text("response");
  if (table.features) return "label";
  throw UsageError(
      fmt::format("no response is named: choose the column that is to be explained with --response, for "
                  "example --response {}",
                  table.columns.back().name));
}

const input::Column& response_column(const input::Table& table, const std::string& name) {
  const input::Column* column = table.find(name);
  if (column == nullptr)
    throw DataError(fmt::format("{} has no column '{}', named by --response{}", table.source, name,
                                input::suggestion(name, table.names())));
  return *column;
}

void refuse_unused(const options::Values& values, const std::vector<std::string>& unused,
                   const std::string& model) {
  std::vector<std::string> found;
  for (const auto& option : unused)
    if (values.given(option)) found.push_back("--" + option);
  if (!found.empty())
    throw UsageError(fmt::format("{} {} no meaning with --model {}", fmt::join(found, ", "),
                                 found.size() == 1 ? "has" : "have", model));
}

Recipe recipe_for(const options::Values& values, const std::string& model) {
  Recipe recipe;
  recipe.model = model;
  recipe.prior = values.text("prior");
  recipe.form = values.text("horseshoe") == "centred" ? HorseshoeForm::centred : HorseshoeForm::noncentred;
  recipe.prior_variance = values.number("prior-variance");
  if (model != "pspline") {
    refuse_unused(values, {"covariate", "basis"}, model);
    if (recipe.prior != "horseshoe" && values.given("horseshoe"))
      throw UsageError("--horseshoe has no meaning without --prior horseshoe");
    return recipe;
  }
  refuse_unused(values,
                {"prior", "prior-variance", "horseshoe", "standardise", "discretise", "column", "exclude"},
                model);
  if (!values.given("covariate"))
    throw UsageError("--model pspline needs the column of its covariate: --covariate");
  recipe.spline = SplineRecipe{values.text("covariate"), values.integer("basis"), {}, {}};
  return recipe;
}

void fix_knots(SplineRecipe& spline, const input::Design& rows) {
  if (rows.x.cols() < 2)
    throw DataError(
        fmt::format("the covariate '{}' is constant: there is no curve to fit", spline.covariate));
  spline.lower = rows.x.col(1).minCoeff();
  spline.upper = rows.x.col(1).maxCoeff();
}

input::DesignOptions design_options(const options::Values& values, const Recipe& recipe,
                                    const std::string& response) {
  input::DesignOptions options;
  options.response = response;
  options.kind = recipe.model == "logistic"  ? input::ResponseKind::binary
                 : recipe.model == "poisson" ? input::ResponseKind::count
                                             : input::ResponseKind::real;
  options.positive_class = values.text("positive");
  options.weights = values.text("weights");
  options.columns =
      recipe.spline ? std::vector<std::string>{recipe.spline->covariate} : values.list("column");
  options.excluded = values.list("exclude");
  options.standardise = values.flag("standardise");
  options.discretise =
      values.text("discretise") == "mdlp" ? input::Discretise::mdlp : input::Discretise::none;
  options.missing =
      values.text("missing") == "drop" ? input::MissingPolicy::drop : input::MissingPolicy::refuse;
  return options;
}

}  // namespace

std::unique_ptr<ModelSource> make_table_source(const options::Values& values) {
  const std::string& file = values.arguments.at(0);
  const input::Table table = input::read_table(file, read_options(values));
  const std::string response = response_name(values, table);
  std::string model = values.text("model");
  std::vector<std::string> notes;
  if (model == "auto") {
    const input::Column& column = response_column(table, response);
    input::ResponseSummary values_seen;
    values_seen.add(column);
    ModelChoice choice = choose_model(column, values_seen);
    model = choice.model;
    notes.push_back(std::move(choice.reason));
  }
  if (values.given("data") || values.given("generated-quantities"))
    throw UsageError("--data and --generated-quantities belong to Stan models; a table is given as FILE");
  Recipe recipe = recipe_for(values, model);
  auto learnt = input::learn_design(table, design_options(values, recipe, response));
  recipe.design = std::move(learnt.spec);
  notes.insert(notes.end(), learnt.design.notes.begin(), learnt.design.notes.end());
  if (recipe.spline) fix_knots(*recipe.spline, learnt.design);

  DataRecord data{file, table.rows,
                  static_cast<Index>(table.columns.size()) + (table.features ? table.features->cols() : 0),
                  table.sha256};
  Regression regression = build_regression(recipe, learnt.design);
  return std::make_unique<TableSource>(std::move(recipe), std::move(regression), values, std::move(data),
                                       std::move(notes));
}

}  // namespace magva::source
