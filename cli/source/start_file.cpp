#include "source/start_file.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "magva/error.hpp"
#include "results/text_file.hpp"
#include "table/nearest_name.hpp"

namespace magva::source {

Vector read_start_file(const Model& model, const std::string& file) {
  const auto json = nlohmann::json::parse(results::read_text(file), nullptr, false);
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
                                  input::suggestion(name, names)));
    if (!value.is_number())
      throw DataError(fmt::format("'{}' gives '{}' a value that is no number", file, name));
    start(found->second) = value.get<double>();
  }
  return start;
}

}  // namespace magva::source
