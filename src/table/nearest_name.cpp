#include "table/nearest_name.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

namespace magva::input {

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

}  // namespace magva::input
