#include "options/values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "magva/error.hpp"
#include "options/option_spec.hpp"
#include "table/message.hpp"

namespace magva::options {

namespace {

using Json = nlohmann::json;

Json to_natural_type(const OptionSpec& spec, const std::string& value) {
  if (spec.kind == ValueKind::integer) return to_integer(value).value_or(0);
  if (spec.kind == ValueKind::number) return to_number(value).value_or(0);
  if (spec.kind == ValueKind::flag) return value == "true";
  return value;
}

std::string as_typed(const Json& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  throw UsageError(fmt::format("{} must be a text, a number, true, false, or a list of these", where));
}

std::vector<std::string> option_names(const Command& command) {
  std::vector<std::string> names;
  for (const auto& option : command.options()) names.push_back(option.name);
  return names;
}

bool is_default(const OptionSpec& spec, const std::vector<std::string>& texts) {
  return !spec.repeatable && !spec.standard.empty() && texts.size() == 1 &&
         to_natural_type(spec, texts.front()) == to_natural_type(spec, spec.standard);
}

bool is_boolean(const std::string& text) { return text == "true" || text == "false"; }

}  // namespace

const OptionSpec& Values::spec(const std::string& option) const {
  const OptionSpec* found = command_->find(option);
  if (found == nullptr) throw std::logic_error("the command has no option --" + option);
  return *found;
}

std::optional<std::string> Values::optional(const std::string& option) const {
  const auto& table = spec(option);
  if (const auto it = given_.find(option); it != given_.end()) return it->second.back();
  if (table.standard.empty()) return std::nullopt;
  return table.standard;
}

std::vector<std::string> Values::list(const std::string& option) const {
  static_cast<void>(spec(option));
  const auto it = given_.find(option);
  return it == given_.end() ? std::vector<std::string>{} : it->second;
}

bool Values::flag(const std::string& option) const { return text(option) == "true"; }

std::int64_t Values::integer(const std::string& option) const { return to_integer(text(option)).value(); }

double Values::number(const std::string& option) const { return to_number(text(option)).value(); }

void Values::set(const std::string& option, std::vector<std::string> values) {
  static_cast<void>(spec(option));
  given_[option] = std::move(values);
}

std::vector<std::string> Values::validate() const {
  std::vector<std::string> found;
  for (const auto& [name, values] : given_) {
    const auto& option = spec(name);
    if (values.size() > 1 && !option.repeatable)
      found.push_back(fmt::format("--{} was given more than once", name));
    for (const auto& value : values) {
      std::string rule;
      if (option.kind == ValueKind::flag)
        rule = is_boolean(value) ? "" : "true or false";
      else if (value.empty())
        rule = "followed by a value";
      else if (option.check)
        rule = option.check(value);
      if (!rule.empty())
        found.push_back(fmt::format("--{} is '{}' and must be {}{}", name, value, rule,
                                    table::suggestion(value, option.choices)));
    }
  }
  return found;
}

Json Values::to_json() const {
  Json out = Json::object();
  for (const auto& option : command_->options()) {
    if (option.repeatable) {
      if (given(option.name)) out[option.name] = list(option.name);
    } else if (const auto value = optional(option.name)) {
      out[option.name] = to_natural_type(option, *value);
    }
  }
  return out;
}

void Values::fill_in(const Json& json, const std::string& origin) {
  std::vector<std::string> unknown;
  for (const auto& [key, value] : json.items()) {
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', '-');
    if (command_->find(name) == nullptr || name == "help") {
      unknown.push_back(fmt::format("'{}'{}", key, table::suggestion(name, option_names(*command_))));
      continue;
    }
    if (given(name)) continue;
    std::vector<std::string> texts;
    const std::string where = fmt::format("'{}' in {}", key, origin);
    if (value.is_array())
      for (const auto& item : value) texts.push_back(as_typed(item, where));
    else
      texts.push_back(as_typed(value, where));
    if (!texts.empty() && !is_default(*command_->find(name), texts)) given_[name] = std::move(texts);
  }
  if (!unknown.empty())
    throw UsageError(fmt::format("{} has keys that are no options of 'magva {}': {}", origin, command_->name,
                                 fmt::join(unknown, ", ")));
}

}  // namespace magva::options
