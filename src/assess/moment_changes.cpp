#include "assess/moment_changes.hpp"

namespace magva {

// Standard errors by the influence of each draw on a difference. On that of the means, with d the deviation
// from the draws' mean and D its weighted mean, it is w (d - D) - d / n; on that of the logarithms of the
// sds, half of w ((d - D)^2 / V_w - 1) - (d^2 / V - 1) / n.
MomentChanges moment_changes(const Matrix& values, const Vector& weights) {
  const Index count = values.cols();
  const double equal = 1 / static_cast<double>(count);
  const Index size = values.rows();
  const Vector mean = values.rowwise().mean();
  Vector square = Vector::Zero(size), shift = Vector::Zero(size), weighted_square = Vector::Zero(size);
  Vector deviation(size);
  for (Index s = 0; s < count; ++s) {
    deviation = values.col(s) - mean;
    shift += weights(s) * deviation;
    square += equal * deviation.cwiseAbs2();
    weighted_square += weights(s) * deviation.cwiseAbs2();
  }
  const Vector variance = weighted_square - shift.cwiseAbs2();
  Vector of_mean = Vector::Zero(size), of_log_sd = Vector::Zero(size);
  for (Index s = 0; s < count; ++s) {
    const auto d = (values.col(s) - mean).array();
    const auto weighted = d - shift.array();
    of_mean.array() += (weights(s) * weighted - equal * d).square();
    of_log_sd.array() +=
        (weights(s) * (weighted.square() / variance.array() - 1) - equal * (d.square() / square.array() - 1))
            .square();
  }
  return {mean,
          square.cwiseSqrt(),
          mean + shift,
          variance.cwiseSqrt(),
          of_mean.cwiseSqrt(),
          .5 * of_log_sd.cwiseSqrt()};
}

}  // namespace magva
