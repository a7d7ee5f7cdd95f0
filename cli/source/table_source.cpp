#include "source/table_source.hpp"

#include <fmt/format.h>

#include "magva/error.hpp"
#include "source/choose_model.hpp"
#include "source/design_options.hpp"
#include "source/read_options.hpp"
#include "source/regression_source.hpp"
#include "table/design_file_writer.hpp"
#include "table/nearest_name.hpp"
#include "table/read_table.hpp"
#include "version.hpp"

namespace magva::source {

namespace {

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

void fix_knots(SplineRecipe& spline, const input::Design& rows) {
  if (rows.x.cols() < 2)
    throw DataError(
        fmt::format("the covariate '{}' is constant: there is no curve to fit", spline.covariate));
  spline.lower = rows.x.col(1).minCoeff();
  spline.upper = rows.x.col(1).maxCoeff();
}

std::string chosen_model(const options::Values& values, const input::Column& response,
                         std::vector<std::string>& notes) {
  if (values.text("model") != "auto") return values.text("model");
  input::ResponseSummary seen;
  seen.add(response);
  ModelChoice choice = choose_model(response, seen);
  notes.push_back(std::move(choice.reason));
  return choice.model;
}

DataRecord record_of(const std::string& file, const input::Table& table) {
  return {file, table.rows,
          static_cast<Index>(table.columns.size()) + (table.features ? table.features->cols() : 0),
          table.sha256};
}

void save_design(const std::string& path, const DataRecord& data, const input::LearntDesign& learnt,
                 const std::vector<std::string>& notes, design_file::Element element) {
  if (learnt.spec.sparse())
    throw UsageError("--save-design is for dense designs: a LIBSVM file is read as fast as it is");
  design_file::Header header;
  header.made_by = fmt::format("magva {}", version());
  header.rows = learnt.design.size();
  header.element = element;
  header.weighted = learnt.design.weights.size() > 0;
  header.spec = learnt.spec;
  header.notes = notes;
  header.source = {data.file, data.rows, data.columns, data.sha256};
  design_file::Writer writer(path, std::move(header));
  writer.append(learnt.design);
  writer.commit();
}

}  // namespace

std::unique_ptr<ModelSource> make_table_source(const options::Values& values) {
  const std::string& file = values.arguments.at(0);
  const input::Table table = input::read_table(file, read_options(values));
  const std::string response = response_name(values, table);
  if (values.given("data") || values.given("generated-quantities"))
    throw UsageError("--data and --generated-quantities belong to Stan models; a table is given as FILE");
  std::vector<std::string> notes;
  Recipe recipe = recipe_for(values, chosen_model(values, response_column(table, response), notes));
  input::DesignOptions options = design_options(values, response);
  options.kind = response_kind(recipe.model);
  if (recipe.spline) options.columns = {recipe.spline->covariate};
  auto learnt = input::learn_design(table, options);
  recipe.design = learnt.spec;
  notes.insert(notes.end(), learnt.design.notes.begin(), learnt.design.notes.end());
  if (recipe.spline) fix_knots(*recipe.spline, learnt.design);
  DataRecord data = record_of(file, table);
  if (values.given("save-design"))
    save_design(values.text("save-design"), data, learnt, notes, element(values));
  Regression regression = build_regression(recipe, std::move(learnt.design), element(values));
  return make_regression_source(std::move(recipe), std::move(regression), values, std::move(data),
                                std::move(notes));
}

}  // namespace magva::source
