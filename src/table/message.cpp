#include "table/message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

#include "table/column_builder.hpp"

namespace magva::table {

namespace {
constexpr std::size_t kShownBytes = 40;

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20U || c == 0x7F; }
}  // namespace

std::string excerpt(std::string_view text) {
  std::size_t length = std::min(text.size(), kShownBytes);
  while (length > 0 && length < text.size() && !starts_character(text[length])) --length;
  std::string shown(text.substr(0, length));
  const bool readable = is_utf8(shown);
  for (char& c : shown)
    if (is_control(c) || (!readable && static_cast<unsigned char>(c) >= 0x80U)) c = '?';
  return "'" + shown + (length < text.size() ? "...'" : "'");
}

std::string place(std::string_view source, std::int64_t line) {
  return fmt::format("{}, line {}", source, line);
}

std::string place(std::string_view source, std::int64_t line, std::string_view column) {
  return fmt::format("{}, line {}, column {}", source, line, excerpt(column));
}

std::string place(std::string_view source, const std::vector<FileStart>& files, std::int64_t line) {
  const auto after =
      std::upper_bound(files.begin(), files.end(), line,
                       [](std::int64_t wanted, const FileStart& f) { return wanted < f.line; });
  if (after == files.begin()) return place(source, line);
  const FileStart& own = *std::prev(after);
  return place(own.file, own.in_file + line - own.line);
}

std::string place(std::string_view source, const std::vector<FileStart>& files, std::int64_t line,
                  std::string_view column) {
  return fmt::format("{}, column {}", place(source, files, line), excerpt(column));
}

std::string name_list(const std::vector<std::string>& names, std::size_t shown) {
  std::string list;
  const std::size_t count = names.size() <= shown + 1 ? names.size() : shown;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) list += i + 1 == names.size() ? " and " : ", ";
    list += excerpt(names[i]);
  }
  if (count < names.size()) list += fmt::format(" and {} more", names.size() - count);
  return list;
}

namespace {
// Longer names are compared by their beginnings: the cost is quadratic.
constexpr std::size_t kCompared = 64;
constexpr int kEdit = 2;
constexpr int kCaseOnly = 1;

int replacement_cost(char a, char b) {
  if (a == b) return 0;
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return lower(a) == lower(b) ? kCaseOnly : kEdit;
}

int edit_distance(std::string_view a, std::string_view b) {
  std::array<std::array<int, kCompared + 1>, kCompared + 1> cost{};
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = kEdit * static_cast<int>(i);
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = kEdit * static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      int best = std::min(cost[i - 1][j], cost[i][j - 1]) + kEdit;
      best = std::min(best, cost[i - 1][j - 1] + replacement_cost(a[i - 1], b[j - 1]));
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) best = std::min(best, cost[i - 2][j - 2] + kEdit);
      cost[i][j] = best;
    }
  }
  return cost[a.size()][b.size()];
}
}  // namespace

std::optional<std::string> nearest_name(std::string_view wanted, const std::vector<std::string>& names) {
  const std::string_view target = wanted.substr(0, kCompared);
  const std::string* nearest = nullptr;
  int smallest = 0;
  for (const std::string& name : names) {
    const std::string_view compared = std::string_view(name).substr(0, kCompared);
    const auto letters = static_cast<int>(std::max(target.size(), compared.size()));
    const int tolerated = std::max(kEdit, kEdit * letters / 3);
    // A case-only difference is always near, however short the name.
    const int distance = edit_distance(target, compared);
    if (distance > tolerated || distance >= kEdit * letters) continue;
    if (nearest == nullptr || distance < smallest) {
      nearest = &name;
      smallest = distance;
    }
  }
  return nearest == nullptr ? std::nullopt : std::optional<std::string>(*nearest);
}

std::string suggestion(std::string_view wanted, const std::vector<std::string>& names) {
  const auto nearest = nearest_name(wanted, names);
  return nearest ? " (did you mean '" + *nearest + "'?)" : "";
}

std::string number_text(double value) {
  // Adding zero turns -0 into 0, so that both are one class or level.
  return fmt::format("{}", value + 0.0);
}

std::string feature_name(Index index) { return fmt::format("x{}", index); }

}  // namespace magva::table
