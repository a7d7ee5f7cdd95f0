#pragma once
// Draws c + delta_k and c - delta_k, k = 1 .. K, at 2 K columns s = k and k + K, share their products with a
// design: one with the centre c and one with each delta_k give all linear predictors. And where only the sum
// of the gradients and the difference of each pair's are wanted, one product with the sum of all residuals
// and one with each pair's difference give these: 2 (K + 1) products in place of 4 K.
//
// A half is a column of K + 1: that of the centre, or the sum, first.
#include "core/vector.hpp"

namespace magva::detail {

/// Halves of columns of `theta`, each with `rows` numbers.
inline void to_halves(const double* theta, Index stride, Index rows, Index pairs, double* halves,
                      Index half_stride) {
  by_packs(rows, [&](auto pack) {
    pack.put(halves, .5 * (pack.get(theta) + pack.get(theta + pairs * stride)));
    for (Index k = 0; k < pairs; ++k)
      pack.put(halves + (k + 1) * half_stride,
               .5 * (pack.get(theta + k * stride) - pack.get(theta + (k + pairs) * stride)));
  });
}

/// What to_halves() makes halves of.
inline void from_halves(const double* halves, Index half_stride, Index rows, Index pairs, double* theta,
                        Index stride) {
  by_packs(rows, [&](auto pack) {
    const Pack centre = pack.get(halves);
    for (Index k = 0; k < pairs; ++k) {
      const Pack delta = pack.get(halves + (k + 1) * half_stride);
      pack.put(theta + k * stride, centre + delta);
      pack.put(theta + (k + pairs) * stride, centre - delta);
    }
  });
}

/// Residuals' sum over all draws and the pairs' differences. Their products' from_halves(), the first
/// divided by K and all by 2, are gradients with the sum and the differences that are wanted.
inline void sum_and_differences(const double* residuals, Index stride, Index rows, Index pairs,
                                double* halves, Index half_stride) {
  const double share = .5 / static_cast<double>(pairs);
  by_packs(rows, [&](auto pack) {
    Pack sum{};
    for (Index k = 0; k < pairs; ++k) {
      const Pack one = pack.get(residuals + k * stride);
      const Pack other = pack.get(residuals + (k + pairs) * stride);
      sum += one + other;
      pack.put(halves + (k + 1) * half_stride, .5 * (one - other));
    }
    pack.put(halves, share * sum);
  });
}

}  // namespace magva::detail
