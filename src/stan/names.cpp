#include "stan/names.hpp"

#include <algorithm>

namespace magva::stan {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const auto end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string bracketed(std::string part) {
  const auto dot = part.find('.');
  if (dot == std::string::npos) return part;
  std::replace(part.begin() + static_cast<std::ptrdiff_t>(dot), part.end(), '.', ',');
  part[dot] = '[';
  return part + "]";
}

}  // namespace

std::string stan_name(std::string_view bridgestan_name) {
  std::string name;
  for (auto& part : split(bridgestan_name, ':')) {
    if (!name.empty()) name += '.';
    name += bracketed(std::move(part));
  }
  return name;
}

std::vector<std::string> stan_names(std::string_view list) {
  if (list.empty()) return {};
  auto names = split(list, ',');
  for (auto& name : names) name = stan_name(name);
  return names;
}

}  // namespace magva::stan
