#pragma once
// The cut points c_1 < c_2 < ... of a cumulative logit: their coordinates, prior and part in a row's density.
#include <cmath>
#include <string>

#include "magva/class_regression.hpp"
#include "models/pointwise_family.hpp"

namespace magva::detail {

/// Coordinates are the first cut point and the logarithms of the distances between neighbours.
class CutPoints {
 public:
  CutPoints(Index count, const CutPointPrior& prior);

  Index count() const { return count_; }
  std::string coordinate_name(Index k) const;
  /// "cut[1]", of the cut points themselves.
  static std::string name(Index k);
  /// The cut points at their coordinates.
  void at(const double* coordinates, double* cuts) const;
  /// The log prior density of the coordinates, whose derivatives are added to `gradient`.
  double add_log_prior(const double* coordinates, double* gradient) const;
  /// Adds to `gradient` the derivatives by the coordinates of what has the derivatives `by_cuts` by the cut
  /// points.
  void add_gradient(const double* coordinates, const double* by_cuts, double* gradient) const;
  /// The coordinates of increasing cut points.
  void coordinates_of(const double* cuts, double* coordinates) const;

 private:
  Index count_;
  CutPointPrior prior_;
  double constant_;
};

/// Cut points at which rows with the linear predictor 0 have these shares of the classes, none of which is 0.
Vector cuts_of_shares(ConstVectorRef shares);

/// One row: with U = c_(y+1) - eta and L = c_y - eta, P(y) = s(U) - s(L) = s(U) s(-L) (1 - exp(L - U)), s the
/// logistic function; s(U) = 1 for the last class and s(L) = 0 for the first. The first derivative by an own
/// value is that by the cut point above the class, the second by the one below.
template <int kOrder>
PointDerivatives cumulative_logit(Index y, Index classes, double eta, const double* cuts) {
  const bool first = y == 0, last = y == classes - 1;
  const double upper = last ? 0 : cuts[y] - eta, lower = first ? 0 : cuts[y - 1] - eta;
  const double above = last ? 0 : inverse_logit(-upper);  // P(class > y)
  const double below = first ? 0 : inverse_logit(lower);  // P(class < y)
  PointDerivatives out;
  out.value = (last ? 0 : -log1p_exp(-upper)) - (first ? 0 : log1p_exp(lower));
  double narrow = 0;
  if (!first && !last) {
    const double gap = cuts[y] - cuts[y - 1];
    out.value += std::log(-std::expm1(-gap));
    narrow = 1 / std::expm1(gap);
  }
  if constexpr (kOrder >= 1) {
    out.by_eta = below - above;
    out.by_own = {last ? 0 : above + narrow, first ? 0 : -(below + narrow)};
  }
  if constexpr (kOrder >= 2) {
    const double spread_above = above * (1 - above), spread_below = below * (1 - below);
    const double bend_above = (1 - 2 * above) * spread_above, bend_below = (1 - 2 * below) * spread_below;
    const double closing = narrow + narrow * narrow;
    out.by_eta2 = -spread_below - spread_above;
    out.by_eta3 = bend_below - bend_above;
    out.by_eta_own = {spread_above, spread_below};
    out.by_eta2_own = {bend_above, -bend_below};
    out.by_own2 = {-spread_above - closing, closing, -spread_below - closing};
  }
  return out;
}

}  // namespace magva::detail
