#include "search/rank_choice.hpp"

#include <algorithm>
#include <cmath>

namespace magva {

namespace {

/// Doubling the rank must gain this many nats, or nats a parameter, whichever is more.
constexpr double kRankGainNats = 1;
constexpr double kRankGainShare = .005;
constexpr Index kMostFactors = 64;
/// Low ranks are tried as long as m^2 times the rank, what a step of their quadratic's ascent takes, is below
/// this.
constexpr double kRankEffort = 4e6;
/// Largest relative error of a marginal sd that a low rank may have.
constexpr double kSdTolerance = .05;

double cost(Index m) { return std::max(kRankGainNats, kRankGainShare * static_cast<double>(m)); }

/// The largest relative error of a marginal sd. A direction with a wrong sd is worth a nat or two, however
/// many parameters there are, and may be all that one of them depends on.
double sd_error(const QuadraticFit& fit, const Vector& sd) {
  const Vector variance = fit.factors.rowwise().squaredNorm() + fit.residual_sd.cwiseAbs2();
  return (variance.cwiseSqrt().array() / sd.array()).log().abs().maxCoeff();
}

Index most_factors(Index m) {
  const auto size = static_cast<double>(m);
  return std::min({kMostFactors, m / 4, static_cast<Index>(kRankEffort / (size * size))});
}
}  // namespace

RankChoice choose_rank(const QuadraticFitter& fitter, Index dimension) {
  const double base = fitter.fit(0).value;
  const double full = fitter.full_rank_value() - base;
  RankChoice choice{0, {}};
  if (dimension > kFullRankDimension) {
    const Vector sd = fitter.full_rank_sd();
    for (Index rank = 0; rank <= most_factors(dimension); rank = std::max<Index>(1, 2 * rank)) {
      const QuadraticFit fit = fitter.fit(rank);
      choice.path.push_back({rank, fit.value - base});
      choice.rank = rank;
      if (fit.value - base >= full - cost(dimension) && sd_error(fit, sd) < kSdTolerance) return choice;
    }
  } else {
    choice.path.push_back({0, 0.});
  }
  choice.rank = dimension;
  choice.path.push_back({dimension, full});
  return choice;
}

RankChoice choose_rank(const CurvatureSketch& sketch) {
  const Index m = sketch.diagonal.size();
  RankChoice choice{0, {{0, 0.}}};
  double gain = 0;
  double last = 0;
  for (Index k = 0; k < sketch.values.size(); ++k) {
    const double l = sketch.values(k);
    gain += .5 * (l - 1 - std::log(l));
    const Index rank = k + 1;
    if ((rank & (rank - 1)) != 0) continue;
    choice.path.push_back({rank, gain});
    if (gain - last < cost(m)) continue;  // several doublings may pay together
    choice.rank = rank;
    last = gain;
  }
  return choice;
}

}  // namespace magva
