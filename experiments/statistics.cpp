#include "experiments/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace magva::experiments {

MeanSd mean_sd(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  std::size_t count = 0;
  for (const double value : values)
    if (std::isfinite(value)) {
      sum += value;
      ++count;
    }
  if (count == 0)
    return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN(), 0};
  const double mean = sum / static_cast<double>(count);
  for (const double value : values)
    if (std::isfinite(value)) squares += (value - mean) * (value - mean);
  return {mean, count > 1 ? std::sqrt(squares / static_cast<double>(count - 1)) : 0, count};
}

Ends ends(const std::vector<double>& values, double reference) {
  std::vector<double> kept;
  for (const double value : values)
    if (std::isfinite(value) && value > reference - 1000) kept.push_back(value);
  return {mean_sd(kept), values.size() - kept.size()};
}

double number(const Json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> numbers(const Json& values) {
  std::vector<double> out;
  for (const Json& value : values) out.push_back(number(value));
  return out;
}

CurveBand band(const std::vector<std::vector<double>>& curves, std::int64_t window) {
  std::size_t longest = 0;
  for (const auto& curve : curves) longest = std::max(longest, curve.size());
  CurveBand out;
  for (std::size_t i = 0; i < longest; ++i) {
    std::vector<double> values;
    for (const auto& curve : curves)
      if (i < curve.size()) values.push_back(curve[i]);
    const MeanSd at = mean_sd(values);
    out.iteration.push_back(static_cast<double>(static_cast<std::int64_t>(i + 1) * window));
    out.mean.push_back(at.mean);
    out.low.push_back(at.mean - at.sd);
    out.high.push_back(at.mean + at.sd);
  }
  return out;
}

report::Range shared_range(const std::vector<CurveBand>& curves, double first_part) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const CurveBand& curve : curves)
    for (auto i = static_cast<std::size_t>(first_part * static_cast<double>(curve.mean.size()));
         i < curve.mean.size(); ++i) {
      if (std::isfinite(curve.low[i])) low = std::min(low, curve.low[i]);
      if (std::isfinite(curve.high[i])) high = std::max(high, curve.high[i]);
    }
  if (!(low < high)) return {0, 1};
  const double margin = .05 * (high - low);
  return {low - margin, high + margin};
}

}  // namespace magva::experiments
