// Names of parameters that anybody may have chosen, one a line, as the files of other programs have them.
#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <sstream>

#include "results/names.hpp"
#include "round_trip.hpp"

using namespace magva;
using table::fuzz::require;

namespace {

/// The lines that differ: no model has a name twice.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::set<std::string> seen;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (seen.insert(line).second) lines.push_back(line);
  return lines;
}

void check_variables(const std::vector<results::Variable>& variables, std::size_t names) {
  std::vector<Index> rows;
  for (const auto& variable : variables) {
    const auto elements = std::accumulate(variable.shape.begin(), variable.shape.end(), std::size_t{1},
                                          std::multiplies<std::size_t>());
    require(variable.rows.size() == elements, "an array has all its elements");
    rows.insert(rows.end(), variable.rows.begin(), variable.rows.end());
  }
  std::sort(rows.begin(), rows.end());
  require(rows.size() == names && (rows.empty() || rows.back() == static_cast<Index>(names) - 1) &&
              std::adjacent_find(rows.begin(), rows.end()) == rows.end(),
          "every row is one element");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::vector<std::string> names = lines_of({reinterpret_cast<const char*>(data), size});
  check_variables(results::group_variables(names), names.size());
  const auto netcdf = results::netcdf_names(names);
  require(std::set<std::string>(netcdf.begin(), netcdf.end()).size() == names.size(),
          "no two names become the same");
  for (const auto& name : netcdf)
    require(!name.empty() && name.find('/') == std::string::npos, "NetCDF allows the name");
  for (const auto& name : names) results::cmdstan_name(name);
  return 0;
}
