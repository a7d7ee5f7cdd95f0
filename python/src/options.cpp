#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "commands/commands.hpp"
#include "magva/error.hpp"
#include "options/option_spec.hpp"

namespace magva::python {

namespace {

const options::Command& fit_command() { return *commands::program().find("fit"); }

constexpr std::string_view kLine = "the table, line ";
constexpr std::string_view kRow = "the table, row ";

bool in_option(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

}  // namespace

options::Values parse_options(const std::string& json) {
  options::Values values(fit_command());
  values.fill_in(nlohmann::json::parse(json), "the call");
  const auto invalid = values.validate();
  if (!invalid.empty()) throw UsageError(fmt::format("{}", fmt::join(invalid, "; ")));
  return values;
}

std::string with_keywords(const std::string& message) {
  std::string out;
  for (std::size_t i = 0; i < message.size();) {
    if (message.compare(i, kLine.size(), kLine) == 0) {
      out += kRow;
      i += kLine.size();
      continue;
    }
    std::size_t end = i + 2;
    if (message.compare(i, 2, "--") == 0)
      while (end < message.size() && in_option(message[end])) ++end;
    std::string name = end > i + 2 ? message.substr(i + 2, end - i - 2) : "";
    if (name.empty() || fit_command().find(name) == nullptr) {
      out += message[i++];
      continue;
    }
    std::replace(name.begin(), name.end(), '-', '_');
    out += name;
    i = end;
  }
  return out;
}

}  // namespace magva::python
