#include "magva/prediction.hpp"

#include <algorithm>
#include <cmath>

namespace magva::prediction {

namespace {

constexpr Index kBins = 10;

std::vector<CalibrationBin> calibrate(const Vector& probability, const Vector& response) {
  std::vector<CalibrationBin> bins;
  for (Index b = 0; b < kBins; ++b)
    bins.push_back({static_cast<double>(b) / kBins, static_cast<double>(b + 1) / kBins, 0, 0, 0});
  for (Index i = 0; i < probability.size(); ++i) {
    auto& bin = bins[static_cast<std::size_t>(
        std::min<Index>(kBins - 1, static_cast<Index>(probability(i) * kBins)))];
    ++bin.rows;
    bin.predicted += probability(i);
    bin.observed += response(i);
  }
  std::erase_if(bins, [](const CalibrationBin& bin) { return bin.rows == 0; });
  for (auto& bin : bins) {
    bin.predicted /= static_cast<double>(bin.rows);
    bin.observed /= static_cast<double>(bin.rows);
  }
  return bins;
}

double share_between(const Vector& lower, const Vector& upper, const Vector& response) {
  const auto inside = (response.array() >= lower.array() && response.array() <= upper.array()).count();
  return static_cast<double>(inside) / static_cast<double>(response.size());
}

}  // namespace

Scores score(const RowPredictions& p, const Vector& response, bool two_classes) {
  Scores out;
  out.rows = response.size();
  out.log_score = p.log_score.mean();
  if (p.probabilities.cols() > 0) {
    out.error_rate =
        static_cast<double>((p.mean.array() != response.array()).count()) / static_cast<double>(out.rows);
    return out;
  }
  if (two_classes) {
    const auto wrong = ((p.mean.array() >= .5).cast<double>() != response.array()).count();
    out.error_rate = static_cast<double>(wrong) / static_cast<double>(out.rows);
    out.calibration = calibrate(p.mean, response);
    return out;
  }
  out.rmse = std::sqrt((p.mean - response).squaredNorm() / static_cast<double>(out.rows));
  out.coverage50 = share_between(p.q25, p.q75, response);
  out.coverage90 = share_between(p.q05, p.q95, response);
  return out;
}

}  // namespace magva::prediction
