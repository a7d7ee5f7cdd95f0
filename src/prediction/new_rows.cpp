#include "prediction/new_rows.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "magva/error.hpp"
#include "table/design_file.hpp"
#include "table/read_table.hpp"

namespace magva::prediction {

namespace {

NewRows design_file_rows(const std::string& path, const source::Recipe& recipe) {
  design_file::DesignFile file = design_file::open(path);
  const auto theirs = input::to_json(file.header.spec);
  const auto ours = input::to_json(recipe.design);
  if (recipe.spline || theirs.at("terms") != ours.at("terms") || theirs.at("response") != ours.at("response"))
    throw DataError(fmt::format(
        "the design file '{}' is not coded as the data of the fit are: make it with magva convert --like and "
        "the folder of the fit, or predict the table itself",
        path));
  return {std::move(file.design), std::move(file.response), {}};
}

}  // namespace

NewRows read_new_rows(const std::string& file, const source::Recipe& recipe, input::ReadOptions reading,
                      input::MissingPolicy missing) {
  if (design_file::is_design_file(file)) return design_file_rows(file, recipe);
  reading.column_kinds = recipe.design.column_kinds();
  const input::Table table = input::read_table(file, reading);
  input::Design rows = input::apply(recipe.design, table, missing);
  Vector response = std::move(rows.y);
  std::vector<Index> numbers = std::move(rows.rows);
  return {source::engine_design(recipe, std::move(rows)), std::move(response), std::move(numbers)};
}

}  // namespace magva::prediction
