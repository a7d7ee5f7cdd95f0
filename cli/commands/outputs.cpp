#include "commands/outputs.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace magva::commands {

namespace {

bool is_output(const std::string& option) {
  constexpr std::array<std::string_view, 3> kOutputs = {"out", "scores", "save-design"};
  return std::find(kOutputs.begin(), kOutputs.end(), option) != kOutputs.end();
}

std::vector<std::string> inputs_of(const options::Values& values) {
  std::vector<std::string> files = values.arguments;
  for (const auto& option : values.command().options())
    if (option.kind == options::ValueKind::file && !is_output(option.name))
      for (const auto& file : values.list(option.name)) files.push_back(file);
  return files;
}

}  // namespace

options::OptionSpec force_option() {
  return {.name = "force",
          .value = "",
          .standard = "",
          .help = "replace an existing file even if it is no earlier output of this command",
          .kind = options::ValueKind::flag};
}

results::OutputRule output_rule(const options::Values& values) {
  return results::OutputRule(inputs_of(values), values.flag("force"));
}

results::OutputRule output_rule(const options::Values& values, const results::FitRecord& fit) {
  std::vector<std::string> inputs = inputs_of(values);
  inputs.insert(inputs.end(), fit.arguments.begin(), fit.arguments.end());
  for (const auto& [name, value] : fit.options.items())
    if (value.is_string()) inputs.push_back(value.get<std::string>());
  return results::OutputRule(std::move(inputs), values.flag("force"));
}

}  // namespace magva::commands
