#include "experiments/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/table.hpp"

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

void Extent::add(double value) {
  if (!std::isfinite(value)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

double MeanSd::standard_error() const { return sd / std::sqrt(static_cast<double>(count)); }

double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end(),
            [](double a, double b) { return std::isnan(a) ? false : std::isnan(b) || a < b; });
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

Ends ends(const std::vector<double>& values, double reference) {
  std::vector<double> kept;
  for (const double value : values)
    if (std::isfinite(value) && value > reference - kDivergenceGap) kept.push_back(value);
  return {mean_sd(kept), values.size() - kept.size()};
}

std::string describe(const Ends& ends) {
  if (ends.kept.count == 0) return "diverges";
  std::string text = report::decimals(ends.kept.mean, 1);
  if (ends.diverged > 0)
    text += fmt::format(" ({} of {} diverge)", ends.diverged, ends.diverged + ends.kept.count);
  return text;
}

double number(const Json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> numbers(const Json& values) {
  std::vector<double> out;
  for (const Json& value : values) out.push_back(number(value));
  return out;
}

std::vector<double> numbers(const std::vector<const Json*>& results, const char* field) {
  std::vector<double> out;
  for (const Json* result : results) out.push_back(number(result->at(field)));
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

CurveBand until(CurveBand curve, std::int64_t iteration) {
  const auto count = static_cast<std::size_t>(
      std::upper_bound(curve.iteration.begin(), curve.iteration.end(), static_cast<double>(iteration)) -
      curve.iteration.begin());
  for (auto* values : {&curve.iteration, &curve.mean, &curve.low, &curve.high}) values->resize(count);
  return curve;
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

double end_of(const std::vector<double>& curve) {
  const std::size_t last = std::max<std::size_t>(1, curve.size() / 10);
  if (curve.size() < last) return std::numeric_limits<double>::quiet_NaN();
  return mean_sd({curve.end() - static_cast<std::ptrdiff_t>(last), curve.end()}).mean;
}

double iterations_to(const std::vector<double>& curve, std::int64_t window, double level) {
  const auto width = static_cast<std::size_t>(std::max<std::int64_t>(1, 100 / window));
  double sum = 0;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (!std::isfinite(curve[i])) return std::numeric_limits<double>::quiet_NaN();
    sum += curve[i] - (i >= width ? curve[i - width] : 0);
    if (i + 1 >= width && sum / static_cast<double>(width) >= level)
      return static_cast<double>(static_cast<std::int64_t>(i + 1) * window);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double oscillation(const std::vector<double>& curve) {
  std::vector<double> differences;
  for (std::size_t i = curve.size() - curve.size() / 5; i < curve.size(); ++i)
    if (i > 0) differences.push_back((curve[i] - curve[i - 1]) / std::sqrt(2.));
  return mean_sd(differences).sd;
}

double iterations_to_own_end(const std::vector<std::vector<double>>& curves, std::int64_t window) {
  std::vector<double> out;
  for (const auto& curve : curves)
    out.push_back(iterations_to(curve, window, end_of(curve) - kConvergedWithin));
  return median(out);
}

double iterations_to_end_of(const std::vector<std::vector<double>>& reference,
                            const std::vector<std::vector<double>>& curves, std::int64_t window) {
  std::vector<double> levels, out;
  for (const auto& curve : reference) levels.push_back(end_of(curve));
  const double level = mean_sd(levels).mean - kConvergedWithin;
  for (const auto& curve : curves) out.push_back(iterations_to(curve, window, level));
  return median(out);
}

double mean_oscillation(const std::vector<std::vector<double>>& curves) {
  std::vector<double> out;
  for (const auto& curve : curves) out.push_back(oscillation(curve));
  return mean_sd(out).mean;
}

std::string iterations_or_never(double iterations) {
  return std::isfinite(iterations) ? report::decimals(iterations, 0) : "never";
}

}  // namespace magva::experiments
