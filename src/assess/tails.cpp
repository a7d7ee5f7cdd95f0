#include "assess/tails.hpp"

#include <fmt/format.h>
#include <Eigen/Eigenvalues>

#include <cmath>

#include "fit/constants.hpp"

namespace magva {

namespace {

struct Axis {
  Vector direction;  // one sd long
  std::string name;
};

// Of L L', each one sd long, the widest first. Scaled to unit variances, so that no parameter's unit decides.
Matrix principal_axes(const Matrix& root) {
  const Vector sd = root.rowwise().norm();
  const Matrix unit = sd.cwiseInverse().asDiagonal() * root;
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(unit * unit.transpose());
  const Matrix axes =
      sd.asDiagonal() * eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal();
  return axes.rowwise().reverse();
}

std::vector<Axis> axes(const Model& model, const Gaussian& q) {
  const Index m = q.dimension();
  std::vector<Axis> out;
  if (q.rank() > 0) {
    const Matrix wide = q.is_dense() ? principal_axes(q.factors()) : q.factors();
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
  if (fall[constants::kTailRadii - 1] > constants::kLightFall) return TailKind::kLight;
  // Radii double: a power law falls by equal amounts, an exponential by doubling ones. A density that rises
  // somewhere on the way, as in a funnel, tells nothing.
  bool flat = true;
  bool heavy = true;
  for (int k = 2; k < constants::kTailRadii; ++k) {
    const double last = fall[k] - fall[k - 1];
    const double before = fall[k - 1] - fall[k - 2];
    flat = flat && std::abs(last) < constants::kFlatNats;
    heavy = heavy && last > 0 && before > 0 && last < constants::kHeavyGrowth * before;
  }
  return flat ? TailKind::kImproper : heavy ? TailKind::kHeavy : TailKind::kLight;
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
