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

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (c < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", c);
    } else if (c == 0xc2 && next >= 0x80 && next < 0xa0) {  // the C1 controls in UTF-8
      out += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

namespace {
constexpr double kLargestFixed = 1e9;
}

std::string elbo_text(double elbo, int decimals) {
  return std::abs(elbo) < kLargestFixed ? fmt::format("{:.{}f}", elbo, decimals)
                                        : fmt::format("{:.6g}", elbo);
}

}  // namespace magva::results
