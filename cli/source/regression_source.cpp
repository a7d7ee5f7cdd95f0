#include "source/regression_source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "magva/error.hpp"
#include "magva/minibatch.hpp"
#include "source/refuse_options.hpp"
#include "source/start_file.hpp"
#include "source/table_report.hpp"

namespace magva::source {

namespace {

std::unique_ptr<const Minibatch> sampled(const std::shared_ptr<const Regression>& full,
                                         const options::Values& values) {
  if (!values.given("batch")) return nullptr;
  MinibatchOptions options;
  options.rows = values.integer("batch");
  options.run = minibatch_run(*full);
  options.seed = static_cast<std::uint64_t>(values.integer("seed"));
  return std::make_unique<Minibatch>(full, options);
}

class RegressionSource final : public ModelSource {
 public:
  RegressionSource(Recipe recipe, Regression model, const options::Values& values, DataRecord data,
                   std::vector<std::string> notes)
      : recipe_(std::move(recipe)),
        full_(std::make_shared<Regression>(std::move(model))),
        sampled_(sampled(full_, values)),
        start_(values.given("init") ? read_start_file(*full_, values.text("init")) : full_->start()),
        data_(std::move(data)),
        notes_(std::move(notes)) {}

  const Model& model() const override { return sampled_ ? static_cast<const Model&>(*sampled_) : *full_; }
  const Model& full_model() const override { return *full_; }
  const Minibatch* minibatch() const override { return sampled_.get(); }
  Index judging_draws() const override {
    constexpr Index kProducts = 125'000'000'000;  // numbers of the design times draws
    constexpr Index kFewest = 100;
    return std::clamp(kProducts / full_->design().entries(), kFewest, ModelSource::judging_draws());
  }
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
  Recipe recipe_;
  std::shared_ptr<const Regression> full_;
  std::unique_ptr<const Minibatch> sampled_;  ///< with --batch
  Vector start_;
  DataRecord data_;
  std::vector<std::string> notes_;
};

}  // namespace

Recipe recipe_for(const options::Values& values, const std::string& model) {
  Recipe recipe;
  recipe.model = model;
  recipe.prior = values.text("prior");
  recipe.form = values.text("horseshoe") == "centred" ? HorseshoeForm::centred : HorseshoeForm::noncentred;
  recipe.prior_variance = values.number("prior-variance");
  if (model != "pspline") {
    refuse_options(values, {"covariate", "basis"}, "with --model " + model);
    if (recipe.prior != "horseshoe" && values.given("horseshoe"))
      throw UsageError("--horseshoe has no meaning without --prior horseshoe");
    return recipe;
  }
  refuse_options(values,
                 {"prior", "prior-variance", "horseshoe", "standardise", "discretise", "column", "exclude",
                  "float32", "save-design"},
                 "with --model " + model);
  if (!values.given("covariate"))
    throw UsageError("--model pspline needs the column of its covariate: --covariate");
  recipe.spline = SplineRecipe{values.text("covariate"), values.integer("basis"), {}, {}};
  return recipe;
}

std::unique_ptr<ModelSource> make_regression_source(Recipe recipe, Regression model,
                                                    const options::Values& values, DataRecord data,
                                                    std::vector<std::string> notes) {
  return std::make_unique<RegressionSource>(std::move(recipe), std::move(model), values, std::move(data),
                                            std::move(notes));
}

}  // namespace magva::source
