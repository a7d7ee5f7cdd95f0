#include "options/config_file.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "magva/error.hpp"
#include "results/text_file.hpp"

namespace magva::options {

namespace {

using Json = nlohmann::json;

Json from_json(const std::string& text, const std::string& path) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw DataError(
        fmt::format("the configuration file '{}' is not valid JSON: it breaks off or goes wrong at byte {}",
                    path, error.byte));
  }
  if (json.contains("options") && json["options"].is_object()) return json["options"];
  return json;
}

Json from_lines(const std::string& text, const std::string& path) {
  Json json = Json::object();
  std::istringstream in(text);
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_config(in);
  } catch (const CLI::Error& error) {
    throw DataError(fmt::format("the configuration file '{}' cannot be read: {}", path, error.what()));
  }
  for (const auto& item : items) {
    if (item.name == "++" || item.name == "--") continue;  // CLI11's marks of a section's begin and end
    if (item.inputs.size() == 1)
      json[item.name] = item.inputs.front();
    else
      json[item.name] = item.inputs;
  }
  return json;
}

}  // namespace

Json read_config(const std::string& path) {
  const std::string text = results::read_text(path);
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{' ? from_json(text, path) : from_lines(text, path);
}

}  // namespace magva::options
