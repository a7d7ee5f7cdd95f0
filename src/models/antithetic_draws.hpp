#pragma once
// Draws c + delta_k and c - delta_k, k = 1 .. K, in columns k and k + K, share their products with a design:
// one with the centre c and one with each delta_k give all linear predictors. And if only the mean of the
// gradients and the half-difference of each pair's are wanted, one product with the mean of all residuals and
// one with each pair's half-difference give these: 2 (K + 1) products in place of 4 K.
//
// Both forms have K + 1 columns, the centre or the mean first.
#include "core/vector.hpp"

namespace magva::detail {

/// c and delta_k from columns of `theta`, each with `rows` numbers.
inline void to_centre_and_deltas(const double* theta, Index stride, Index rows, Index pairs, double* out,
                                 Index out_stride) {
  for_each_vec(rows, [&](auto at) {
    at.store(out, .5 * (at.load(theta) + at.load(theta + pairs * stride)));
    for (Index k = 0; k < pairs; ++k)
      at.store(out + (k + 1) * out_stride,
               .5 * (at.load(theta + k * stride) - at.load(theta + (k + pairs) * stride)));
  });
}

/// The inverse of to_centre_and_deltas().
inline void from_centre_and_deltas(const double* deltas, Index delta_stride, Index rows, Index pairs,
                                   double* theta, Index stride) {
  for_each_vec(rows, [&](auto at) {
    const Vec centre = at.load(deltas);
    for (Index k = 0; k < pairs; ++k) {
      const Vec delta = at.load(deltas + (k + 1) * delta_stride);
      at.store(theta + k * stride, centre + delta);
      at.store(theta + (k + pairs) * stride, centre - delta);
    }
  });
}

/// The mean of all residuals and the pairs' half-differences.
inline void mean_and_half_differences(const double* residuals, Index stride, Index rows, Index pairs,
                                      double* out, Index out_stride) {
  const double share = .5 / static_cast<double>(pairs);
  for_each_vec(rows, [&](auto at) {
    Vec sum{};
    for (Index k = 0; k < pairs; ++k) {
      const Vec one = at.load(residuals + k * stride);
      const Vec other = at.load(residuals + (k + pairs) * stride);
      sum += one + other;
      at.store(out + (k + 1) * out_stride, .5 * (one - other));
    }
    at.store(out, share * sum);
  });
}

}  // namespace magva::detail
