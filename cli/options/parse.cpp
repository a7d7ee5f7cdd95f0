#include "options/parse.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/atomic_file.hpp"
#include "magva/error.hpp"
#include "table/message.hpp"

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
  } catch (const Json::out_of_range&) {
    throw DataError(fmt::format("the configuration file '{}' holds a number that is too large", path));
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

Json read_config(const std::string& path) { return parse_config(io::read_text(path), path); }

Json parse_config(const std::string& text, const std::string& path) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{' ? from_json(text, path) : from_lines(text, path);
}

namespace {

struct Raw {
  std::map<std::string, std::vector<std::string>> values;
  std::map<std::string, bool> flags;
  std::vector<std::string> arguments;
  std::vector<std::string> extras;
};

std::string flag_text(const OptionSpec& option) {
  return option.letter == 0 ? "--" + option.name : fmt::format("-{},--{}", option.letter, option.name);
}

Raw split(const Command& command, std::vector<std::string> words) {
  Raw raw;
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  for (const auto& option : command.options()) {
    if (option.kind == ValueKind::flag)
      app.add_flag(flag_text(option), raw.flags[option.name]);
    else
      app.add_option(flag_text(option), raw.values[option.name])
          ->expected(1)
          ->take_all()
          ->allow_extra_args(false);
  }
  app.add_option("arguments", raw.arguments)->expected(0, CLI::detail::expected_max_vector_size);
  std::reverse(words.begin(), words.end());
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    const std::string what = error.what();
    const std::string name = what.substr(0, what.find(':'));
    if (error.get_name() == "ArgumentMismatch" && name.starts_with("--"))
      throw UsageError(fmt::format("the option {} needs a value", name));
    throw UsageError(what);
  }
  raw.extras = app.remaining();
  return raw;
}

// A misspelt option's value lands among the arguments, so options are complained about first, and alone.
void check_options_known(const Command& command, const std::vector<std::string>& extras) {
  std::vector<std::string> known;
  for (const auto& option : command.options()) known.push_back(option.name);
  std::vector<std::string> unknown;
  for (const auto& word : extras) {
    const std::string bare = word.substr(0, word.find('='));
    const auto name = bare.find_first_not_of('-');
    if (name == 0 || name == std::string::npos) continue;  // no option, or dashes alone
    const auto nearest = table::nearest_name(bare.substr(name), known);
    unknown.push_back(nearest ? fmt::format("{} (did you mean --{}?)", bare, *nearest) : bare);
  }
  if (!unknown.empty())
    throw UsageError(fmt::format("'magva {}' has no option {}; see magva {} --help", command.name,
                                 fmt::join(unknown, ", "), command.name));
}

void take_arguments(const Command& command, const Raw& raw, std::vector<std::string>& into) {
  const auto& table = command.arguments;
  const bool any_number = !table.empty() && table.back().repeatable;
  if (raw.arguments.size() > table.size() && !any_number)
    throw UsageError(fmt::format("'{}' is one argument too many; see magva {} --help{}",
                                 raw.arguments[table.size()], command.name,
                                 table.empty() || table.back().name != "FILE"
                                     ? ""
                                     : ", and put a pattern for several files, 'part-*.csv', in quotes"));
  for (std::size_t i = raw.arguments.size(); i < table.size(); ++i)
    if (table[i].required)
      throw UsageError(fmt::format("magva {} needs {}: {}", command.name, table[i].name, table[i].help));
  into = raw.arguments;
}

}  // namespace

Values parse(const Command& command, const std::vector<std::string>& words, bool& wants_help) {
  const Raw raw = split(command, words);
  Values values(command);
  wants_help = raw.flags.at("help");
  if (wants_help) return values;
  check_options_known(command, raw.extras);
  take_arguments(command, raw, values.arguments);
  for (const auto& [name, texts] : raw.values)
    if (!texts.empty()) values.set(name, texts);
  for (const auto& [name, set] : raw.flags)
    if (set) values.set(name, {"true"});
  if (command.find("config") != nullptr && values.given("config"))
    values.fill_in(read_config(values.text("config")),
                   fmt::format("the configuration file '{}'", values.text("config")));
  const auto problems = values.validate();
  if (!problems.empty()) throw UsageError(fmt::format("{}", fmt::join(problems, "; ")));
  return values;
}

const Command& find_command(const Program& program, const std::string& word) {
  if (const Command* command = program.find(word)) return *command;
  std::vector<std::string> names;
  for (const auto& command : program.commands) names.push_back(command.name);
  throw UsageError(fmt::format("there is no command '{}'{}: the commands are {}; see magva --help", word,
                               table::suggestion(word, names), fmt::join(names, ", ")));
}

}  // namespace magva::options
