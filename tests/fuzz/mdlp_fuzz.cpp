// Three classes and values that are often equal: cuts increase and leave no bin empty.
#include "table/mdlp.hpp"

#include <cmath>
#include <cstring>

#include "round_trip.hpp"

using namespace magva::table;

namespace {
double next_value(const unsigned char*& data, const unsigned char* end) {
  const unsigned char kind = *data++;
  double value = static_cast<signed char>(kind);
  if (kind % 8 != 0 || end - data < 8) return value;
  std::memcpy(&value, data, sizeof value);
  data += sizeof value;
  return std::isfinite(value) ? value : kind;
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::vector<double> values;
  std::vector<int> classes;
  const unsigned char* const end = data + size;
  while (end - data >= 2) {
    classes.push_back(*data++ % 3);
    values.push_back(next_value(data, end));
  }
  const std::vector<double> cuts = mdlp_cuts(values, classes, 3);
  std::vector<int> counts(cuts.size() + 1, 0);
  for (const double value : values) ++counts[static_cast<std::size_t>(bin_of(value, cuts))];
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    fuzz::require(std::isfinite(cuts[i]), "cuts are finite");
    fuzz::require(i == 0 || cuts[i - 1] < cuts[i], "cuts increase");
    fuzz::require(counts[i] > 0, "no bin is empty");
  }
  fuzz::require(values.empty() || counts.back() > 0, "the last bin is not empty");
  return 0;
}
