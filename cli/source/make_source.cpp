#include "source/model_source.hpp"

#include "source/design_source.hpp"
#include "source/stan_source.hpp"
#include "source/table_report.hpp"
#include "source/table_source.hpp"
#include "table/design_file_header.hpp"

namespace magva::source {

std::unique_ptr<ModelSource> make_source(const options::Values& values) {
  const std::string& file = values.arguments.at(0);
  if (is_stan_file(file)) return make_stan_source(values);
  return design_file::is_design_file(file) ? make_design_source(values) : make_table_source(values);
}

std::unique_ptr<Reporter> make_reporter(const nlohmann::json& for_prediction, const options::Values& values) {
  if (for_prediction.is_null()) return make_source(values);
  return make_table_reporter(recipe_from_json(for_prediction, "model.json"));
}

}  // namespace magva::source
