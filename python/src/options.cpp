#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "commands/commands.hpp"
#include "magva/error.hpp"
#include "options/option_spec.hpp"

namespace magva::python {

namespace {

const options::Command& fit_command() { return *commands::program().find("fit"); }

/// `rank` for --rank, `missing='drop'` for --missing drop, and `correct=True` for a flag of what is done with
/// a fit; nothing if there is no such option.
std::string as_keyword(const std::string& option, const std::string& word) {
  const options::OptionSpec* spec = fit_command().find(option);
  std::string name = option;
  std::replace(name.begin(), name.end(), '-', '_');
  if (spec == nullptr) {
    const options::OptionSpec* other = commands::program().find("summary")->find(option);
    if (other == nullptr || !other->value.empty()) return {};
    return name + "=True" + (word.empty() ? "" : " " + word);
  }
  if (word.empty()) return name;
  const bool choice = std::find(spec->choices.begin(), spec->choices.end(), word) != spec->choices.end();
  return choice ? fmt::format("{}='{}'", name, word) : name + " " + word;
}

std::string rows_for_lines(const std::string& message) {
  static const std::regex line("\\bline (?=[0-9]+, column ')|((?:the table|the data), )line (?=[0-9])");
  return std::regex_replace(message, line, "$1row ");
}

}  // namespace

options::Values parse_options(const std::string& json) {
  options::Values values(fit_command());
  values.fill_in(nlohmann::json::parse(json), "the call");
  const auto invalid = values.validate();
  if (!invalid.empty()) throw UsageError(fmt::format("{}", fmt::join(invalid, "; ")));
  return values;
}

std::string with_keywords(const std::string& message) {
  static const std::regex option("--([a-z0-9][a-z0-9-]*)(?: ([a-z][a-z-]*))?");
  std::string out;
  auto at = message.begin();
  for (std::sregex_iterator found(message.begin(), message.end(), option), none; found != none; ++found) {
    const std::smatch& match = *found;
    const std::string keyword = as_keyword(match.str(1), match.str(2));
    out.append(at, match[0].first);
    out += keyword.empty() ? match.str() : keyword;
    at = match[0].second;
  }
  out.append(at, message.end());
  return rows_for_lines(out);
}

}  // namespace magva::python
