#include "sparse/positive_precision.hpp"

namespace magva {

namespace {

/// Shares of its diagonal, the first that suffices, that are added to a curvature that is not positive
/// definite.
constexpr double kDampings[] = {0, 1e-6, 1e-4, 1e-2, .1, 1, 10, 100, 1e4, 1e6};

}  // namespace

PositivePrecision make_positive(const HessianPattern& pattern, const Vector& curvature) {
  if (!curvature.allFinite()) return {};
  const Vector diagonal = pattern.diagonal(curvature);
  const Vector size = diagonal.cwiseAbs().cwiseMax(1e-12 * diagonal.cwiseAbs().maxCoeff() + 1e-300);
  for (const double share : kDampings) {
    Vector values = curvature;
    // Once anything is added, negative entries of the diagonal change their sign first.
    if (share > 0) pattern.add_to_diagonal((1 + share) * size - diagonal, values);
    if (auto precision = FactoredPrecision::make(pattern.structure(), std::move(values), pattern.sums()))
      return {std::move(precision), share};
  }
  return {};
}

}  // namespace magva
