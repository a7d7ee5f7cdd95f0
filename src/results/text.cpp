#include "results/text.hpp"

#include <fmt/format.h>

#include <cmath>

namespace magva::results {

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

namespace {
constexpr double kLargestFixed = 1e9;
}

std::string elbo_text(double elbo, int decimals) {
  return std::abs(elbo) < kLargestFixed ? fmt::format("{:.{}f}", elbo, decimals)
                                        : fmt::format("{:.6g}", elbo);
}

}  // namespace magva::results
