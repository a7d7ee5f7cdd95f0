#include "search/rank_choice.hpp"

#include <algorithm>
#include <cmath>

namespace magva {

namespace {

/// Doubling the rank must gain this many nats, or nats a parameter, whichever is more.
constexpr double kRankGainNats = 1;
constexpr double kRankGainShare = .005;
constexpr Index kMostFactors = 64;

double cost(Index m) { return std::max(kRankGainNats, kRankGainShare * static_cast<double>(m)); }
}  // namespace

RankChoice choose_rank(const QuadraticFitter& fitter, Index dimension) {
  const double base = fitter.fit(0).value;
  const double full = fitter.full_rank_value() - base;
  RankChoice choice{0, {{0, 0.}}};
  if (dimension <= kFullRankDimension) {
    choice.rank = dimension;
    choice.path.push_back({dimension, full});
    return choice;
  }
  double last = 0;
  for (Index rank = 1; rank <= std::min(kMostFactors, dimension / 4); rank *= 2) {
    const double gain = fitter.fit(rank).value - base;
    choice.path.push_back({rank, gain});
    if (gain - last < cost(dimension) && full - gain < 2 * cost(dimension)) break;
    if (gain - last >= cost(dimension)) choice.rank = rank;
    last = gain;
  }
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
