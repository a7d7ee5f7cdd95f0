#include "options/checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace magva::options {

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
