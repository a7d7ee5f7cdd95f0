#include "results/netcdf_names.hpp"

#include <algorithm>
#include <set>

namespace magva::results {

namespace {

bool may_start(unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c >= 0x80; }

std::string allowed(std::string name) {
  if (name == "(Intercept)") return "Intercept";
  std::replace(name.begin(), name.end(), '/', '_');
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '_');
  while (!name.empty() && name.back() == ' ') name.pop_back();
  return name.empty() || !may_start(static_cast<unsigned char>(name.front())) ? "_" + name : name;
}

}  // namespace

std::vector<std::string> netcdf_names(std::vector<std::string> names) {
  std::set<std::string> taken;
  for (auto& name : names) {
    name = allowed(name);
    while (!taken.insert(name).second) name += "_";
  }
  return names;
}

}  // namespace magva::results
