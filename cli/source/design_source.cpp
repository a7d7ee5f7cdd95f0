#include "source/design_source.hpp"

#include <fmt/format.h>

#include "magva/error.hpp"
#include "source/design_options.hpp"
#include "source/refuse_options.hpp"
#include "source/regression_source.hpp"
#include "table/design_file.hpp"

namespace magva::source {

namespace {

void refuse_other_response(const options::Values& values, const design_file::Header& header) {
  const std::string& stored = header.spec.response.column;
  if (values.given("response") && values.text("response") != stored)
    throw UsageError(fmt::format("the response of '{}' is '{}': for another, convert the table again",
                                 values.arguments.at(0), stored));
}

std::string model_of(const options::Values& values, const design_file::Header& header) {
  const std::string stored = model_for(header.spec.response.kind);
  const std::string asked = values.text("model");
  if (asked == "auto" || asked == stored) return stored;
  throw UsageError(fmt::format(
      "the design file '{}' was made for --model {}: for another, convert the table again with --model",
      values.arguments.at(0), stored));
}

}  // namespace

std::unique_ptr<ModelSource> make_design_source(const options::Values& values) {
  const std::string& path = values.arguments.at(0);
  std::vector<std::string> fixed = coding_options();
  for (const char* option : {"float32", "save-design", "data", "generated-quantities"})
    fixed.emplace_back(option);
  refuse_options(values, fixed, "for a design file, in which all is coded");
  design_file::DesignFile file = design_file::open(path);
  design_file::Header& header = file.header;
  refuse_other_response(values, header);
  Recipe recipe = recipe_for(values, model_of(values, header));
  recipe.design = header.spec;
  if (values.given("batch"))
    file.file->expect_scattered_reads();
  else
    file.file->expect_sequential_reads();
  Regression model = build_regression(recipe, {std::move(file.design), std::move(file.response),
                                               std::move(file.weights), recipe.design.names()});
  DataRecord data{path, header.rows, header.columns(), header.sha256};
  return make_regression_source(std::move(recipe), std::move(model), values, std::move(data),
                                std::move(header.notes));
}

}  // namespace magva::source
