#include "options/option_spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "exit_codes.hpp"

namespace magva::options {

namespace {

const OptionSpec kHelp = {.name = "help",
                          .value = "",
                          .standard = "",
                          .help = "show this help",
                          .kind = ValueKind::flag,
                          .letter = 'h'};

}  // namespace

std::vector<OptionSpec> Command::options() const {
  std::vector<OptionSpec> all;
  for (const auto& group : groups) all.insert(all.end(), group.options.begin(), group.options.end());
  all.push_back(kHelp);
  return all;
}

const OptionSpec* Command::find(const std::string& option) const {
  for (const auto& group : groups)
    for (const auto& spec : group.options)
      if (spec.name == option) return &spec;
  return option == kHelp.name ? &kHelp : nullptr;
}

const Command* Program::find(const std::string& command) const {
  for (const auto& candidate : commands)
    if (candidate.name == command) return &candidate;
  return nullptr;
}

std::vector<ExitCodeText> exit_code_texts() {
  return {
      {kOk, "done, and the result may be used as the summary says"},
      {kUsage, "an invalid option or argument"},
      {kNotTrusted, "finished or stopped early, and saved, but not to be trusted: the message says why"},
      {kData, "data or a model that cannot be used"},
      {kBug, "an internal error: please report it"},
      {kIo, "a file or folder that cannot be read or written"},
      {kKilledByInterrupt, "interrupted twice, nothing more was saved"},
  };
}

std::optional<std::int64_t> to_integer(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || text.empty()) return std::nullopt;
  return value;
}

std::optional<double> to_number(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || text.empty()) return std::nullopt;
  return value;
}

Check integer_between(std::int64_t least, std::int64_t most) {
  return [=](const std::string& text) -> std::string {
    const auto value = to_integer(text);
    if (value && *value >= least && *value <= most) return {};
    if (most == std::numeric_limits<std::int64_t>::max()) return fmt::format("an integer, {} or more", least);
    return fmt::format("an integer between {} and {}", least, most);
  };
}

Check positive_number() {
  return [](const std::string& text) -> std::string {
    const auto value = to_number(text);
    return value && *value > 0 && std::isfinite(*value) ? "" : "a positive number";
  };
}

Check one_of(std::vector<std::string> texts, Check otherwise) {
  return
      [texts = std::move(texts), otherwise = std::move(otherwise)](const std::string& text) -> std::string {
        if (std::find(texts.begin(), texts.end(), text) != texts.end()) return {};
        if (!otherwise) return fmt::format("one of {}", fmt::join(texts, ", "));
        const std::string other = otherwise(text);
        return other.empty() ? other : fmt::format("{} or {}", fmt::join(texts, ", "), other);
      };
}

}  // namespace magva::options
