#pragma once
// What the user asked for: the values of a command's options, from the command line, a configuration file or
// an earlier run, with the table's defaults behind them.
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "options/option_spec.hpp"

namespace magva::options {

class Values {
 public:
  explicit Values(const Command& command) : command_(&command) {}

  const Command& command() const { return *command_; }
  std::vector<std::string> arguments;  ///< in the order of the command's table

  /// Given by the user, whatever the default.
  bool given(const std::string& option) const { return given_.count(option) > 0; }
  /// The value or the default; nothing if there is neither.
  std::optional<std::string> optional(const std::string& option) const;
  std::string text(const std::string& option) const { return optional(option).value_or(""); }
  std::vector<std::string> list(const std::string& option) const;
  bool flag(const std::string& option) const;
  std::int64_t integer(const std::string& option) const;
  double number(const std::string& option) const;

  void set(const std::string& option, std::vector<std::string> values);
  /// Every fault of the values given, each as '--rank is x and must be y'.
  std::vector<std::string> validate() const;

  /// All options that have a value, in their natural JSON types.
  nlohmann::json to_json() const;
  /// Takes from `json` what was not given yet and is not the default; throws UsageError, naming `origin`, for
  /// keys that are no options.
  void fill_in(const nlohmann::json& json, const std::string& origin);

 private:
  const OptionSpec& spec(const std::string& option) const;

  const Command* command_;
  std::map<std::string, std::vector<std::string>> given_;
};

}  // namespace magva::options
