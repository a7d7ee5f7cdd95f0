#include "models/logistic_normal.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "core/vector_math.hpp"
#include "models/normal_rule.hpp"

namespace magva::detail {

namespace {

constexpr double kWide = 8;  // sd from which on the series is used

/// 2 eta(2 k + 2) with Dirichlet's eta function: the 2k-th moment of log(1 + exp(-|x|)) over (2k)!.
const std::array<double, 20>& series_moments() {
  static const std::array<double, 20> all = [] {
    std::array<double, 20> out{};
    for (std::size_t k = 0; k < out.size(); ++k) {
      const double power = 2.0 * static_cast<double>(k) + 2.0;
      double zeta = 0;
      constexpr int kTerms = 40;
      for (int n = 1; n < kTerms; ++n) zeta += std::pow(n, -power);
      // Euler and Maclaurin's rest.
      zeta += std::pow(kTerms, 1 - power) / (power - 1) + .5 * std::pow(kTerms, -power) +
              power / 12 * std::pow(kTerms, -power - 1) -
              power * (power + 1) * (power + 2) / 720 * std::pow(kTerms, -power - 3);
      out[k] = 2 * (1 - std::pow(2, 1 - power)) * zeta;
    }
    return out;
  }();
  return all;
}

/// For wide normals: log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), of which the first part is closed and the
/// second sees of the density p no more than its power series around 0, whose terms are moments times
/// derivatives p^(j)(0) = p(0) He_j(mean / sd) / sd^j.
LogisticNormal wide(double mean, double sd) {
  const double u = mean / sd;
  const double density = std::exp(-.5 * u * u) / std::sqrt(2 * std::numbers::pi);
  const double below = .5 * std::erfc(-u / std::numbers::sqrt2);
  const double p = density / sd;
  LogisticNormal out{mean * below + sd * density, below, p};
  double even = 1;
  double odd = u / sd;
  double j = 1;  // the order of `odd`
  for (const double moment : series_moments()) {
    const double next_even = (u * odd - j * even / sd) / sd;
    out.value += moment * even * p;
    out.slope -= moment * odd * p;
    out.curvature += moment * next_even * p;
    odd = (u * next_even - (j + 1) * odd / sd) / sd;
    even = next_even;
    j += 2;
  }
  return out;
}

struct VecMoments {
  Vec value, slope, curvature;
};

VecMoments by_rule(const PairRule& rule, Vec mean, Vec sd) {
  const Vec one = set(1.0);
  VecMoments sum{Vec{}, Vec{}, Vec{}};
  for (std::size_t k = 0; k < rule.node.size(); ++k) {
    const Vec shift = sd * rule.node[k];
    const Vec x[2] = {mean - shift, mean + shift};
    Vec e[2] = {-abs(x[0]), -abs(x[1])};
    exp_each(e);
    const Vec weight = set(rule.weight[k]);
    for (int side = 0; side < 2; ++side) {
      const Vec u = one + e[side];
      const Vec d = one / (u * (one + u));
      const Vec inverse = d * (one + u);
      const Vec value = max(x[side], Vec{}) + log1p_from(e[side] * (d * u));
      sum.value = multiply_add(weight, value, sum.value);
      sum.slope = multiply_add(weight, (x[side] > Vec{} ? one : e[side]) * inverse, sum.slope);
      sum.curvature = multiply_add(weight, e[side] * inverse * inverse, sum.curvature);
    }
  }
  return sum;
}

/// Which rule a vector needs depends on the widest of its normals.
void pack_moments(const double* mean, const double* variance, double* value, double* slope,
                  double* curvature) {
  double sd[kLanes<Vec>];
  double widest = 0;
  bool any_narrow = false;
  for (Index i = 0; i < kLanes<Vec>; ++i) {
    sd[i] = std::sqrt(variance[i]);
    if (!(sd[i] < kWide)) continue;
    widest = std::max(widest, sd[i]);
    any_narrow = true;
  }
  if (any_narrow) {
    const VecMoments moments = by_rule(*normal_rule(widest), load(mean), load(sd));
    store(value, moments.value);
    store(slope, moments.slope);
    store(curvature, moments.curvature);
  }
  for (Index i = 0; i < kLanes<Vec>; ++i) {
    if (sd[i] < kWide) continue;
    const LogisticNormal one = wide(mean[i], sd[i]);
    value[i] = one.value;
    slope[i] = one.slope;
    curvature[i] = one.curvature;
  }
}

}  // namespace

void logistic_normal(const double* mean, const double* variance, Index count, double* value, double* slope,
                     double* curvature) {
  for (Index i = 0; i < count; i += kLanes<Vec>)
    pack_moments(mean + i, variance + i, value + i, slope + i, curvature + i);
}

LogisticNormal logistic_normal(double mean, double variance) {
  double means[kPadding], variances[kPadding], value[kPadding], slope[kPadding], curvature[kPadding];
  std::fill_n(means, kPadding, mean);
  std::fill_n(variances, kPadding, variance);
  logistic_normal(means, variances, kPadding, value, slope, curvature);
  return {value[0], slope[0], curvature[0]};
}

}  // namespace magva::detail
