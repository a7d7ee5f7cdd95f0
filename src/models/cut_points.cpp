#include "models/cut_points.hpp"

#include <fmt/format.h>

#include <numbers>

namespace magva::detail {

CutPoints::CutPoints(Index count, const CutPointPrior& prior) : count_(count), prior_(prior) {
  const double nu = prior.degrees_of_freedom;
  const auto cuts = static_cast<double>(count);
  const double each = log_gamma(.5 * (nu + 1)) - log_gamma(.5 * nu) - .5 * std::log(nu * std::numbers::pi) -
                      std::log(prior.scale);
  constant_ = cuts * each + log_gamma(cuts + 1);  // one of count! orders
}

std::string CutPoints::coordinate_name(Index k) const {
  return k == 0 ? name(0) : fmt::format("log_gap[{}]", k + 1);
}

std::string CutPoints::name(Index k) { return fmt::format("cut[{}]", k + 1); }

void CutPoints::at(const double* coordinates, double* cuts) const {
  cuts[0] = coordinates[0];
  for (Index k = 1; k < count_; ++k) cuts[k] = cuts[k - 1] + std::exp(coordinates[k]);
}

double CutPoints::add_log_prior(const double* coordinates, double* gradient) const {
  const double nu = prior_.degrees_of_freedom;
  const double c = nu * prior_.scale * prior_.scale;
  Vector cuts(count_), by_cuts(count_);
  at(coordinates, cuts.data());
  double value = constant_;
  for (Index k = 0; k < count_; ++k) {
    const double r = cuts(k) - prior_.location;
    value -= .5 * (nu + 1) * std::log1p(r * r / c);
    by_cuts(k) = -(nu + 1) * r / (c + r * r);
    if (k == 0) continue;
    value += coordinates[k];  // the Jacobian of the logarithm
    gradient[k] += 1;
  }
  add_gradient(coordinates, by_cuts.data(), gradient);
  return value;
}

void CutPoints::add_gradient(const double* coordinates, const double* by_cuts, double* gradient) const {
  double above = 0;  // derivative by this cut point and all above it
  for (Index k = count_ - 1; k >= 0; --k) {
    above += by_cuts[k];
    gradient[k] += k == 0 ? above : above * std::exp(coordinates[k]);
  }
}

void CutPoints::coordinates_of(const double* cuts, double* coordinates) const {
  coordinates[0] = cuts[0];
  for (Index k = 1; k < count_; ++k) coordinates[k] = std::log(cuts[k] - cuts[k - 1]);
}

Vector cuts_of_shares(ConstVectorRef shares) {
  Vector cuts(shares.size() - 1);
  double at_most = 0;
  for (Index k = 0; k < cuts.size(); ++k) {
    at_most += shares(k);
    cuts(k) = std::log(at_most / (1 - at_most));
  }
  return cuts;
}

}  // namespace magva::detail
