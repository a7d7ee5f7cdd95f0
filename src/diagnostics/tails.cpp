#include "magva/diagnostics/tails.hpp"

#include <fmt/format.h>
#include <Eigen/SVD>

#include <cmath>

#include "magva/auto/constants.hpp"

namespace magva {

namespace {

struct Axis {
  Vector direction;  // one sd long
  std::string name;
};

std::vector<Axis> axes(const Model& model, const Gaussian& q) {
  const Index m = q.dimension();
  std::vector<Axis> out;
  if (q.rank() > 0) {
    const Matrix wide = q.is_dense()
                            ? Matrix(Eigen::BDCSVD<Matrix>(q.factors(), Eigen::ComputeThinU).matrixU() *
                                     Eigen::BDCSVD<Matrix>(q.factors()).singularValues().asDiagonal())
                            : q.factors();
    for (Index j = 0; j < std::min<Index>(wide.cols(), constants::kTailFactors); ++j)
      out.push_back({wide.col(j), fmt::format("the Gaussian's principal axis {}", j + 1)});
  }
  // Coordinates are probed with their conditional sds, so that a strong correlation does not hide a flat
  // direction.
  const Vector sd = q.sd();
  const Index stride = std::max<Index>(1, m / constants::kTailCoordinates);
  for (Index i = 0; i < m; i += stride)
    out.push_back({sd(i) * Vector::Unit(m, i), "parameter " + model.parameter_name(i)});
  return out;
}

// Falls of the log density at the radii, from the mean.
TailKind classify(const double* fall) {
  for (int k = 0; k < constants::kTailRadii; ++k)
    if (!std::isfinite(fall[k])) return TailKind::kLight;  // beyond the support, or beyond all numbers
  const double last = fall[constants::kTailRadii - 1] - fall[constants::kTailRadii - 2];
  const double before = fall[constants::kTailRadii - 2] - fall[constants::kTailRadii - 3];
  if (last < constants::kFlatNats && before < constants::kFlatNats) return TailKind::kImproper;
  // Radii double: a power law falls by equal amounts, an exponential by doubling ones.
  if (last < constants::kHeavyGrowth * before) return TailKind::kHeavy;
  return TailKind::kLight;
}

}  // namespace

TailReport probe_tails(Evaluator& evaluator, const Gaussian& q) {
  const Index m = q.dimension();
  Vector at_mean(m);
  const double centre = evaluator.evaluate(q.mean(), at_mean);
  TailReport report;
  constexpr Index kColumns = 2 * constants::kTailRadii;
  for (const Axis& axis : axes(evaluator.model(), q)) {
    Matrix theta(m, kColumns);
    for (Index side = 0; side < 2; ++side)
      for (Index k = 0; k < constants::kTailRadii; ++k)
        theta.col(side * constants::kTailRadii + k) =
            q.mean() + (side == 0 ? 1 : -1) * constants::kFirstTailRadius *
                           std::ldexp(1, static_cast<int>(k)) * axis.direction;
    Vector log_density(kColumns);
    Matrix gradient(m, kColumns);
    evaluator.evaluate(theta, log_density, gradient);
    const Vector fall = centre - log_density.array();
    for (Index side = 0; side < 2; ++side) {
      const TailKind kind = classify(fall.data() + side * constants::kTailRadii);
      if (kind > report.kind) report = {kind, axis.name};
    }
  }
  return report;
}

}  // namespace magva
