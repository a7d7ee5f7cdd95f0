#include "fit/chain_forms.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "assess/chain_covariance.hpp"
#include "assess/marginals.hpp"
#include "shape/skewed_margins.hpp"

namespace magva {

namespace {

/// A change of a log sd by which the metric of chains is another one.
constexpr double kOtherMetric = .2;

/// Each with a share that says how far it is beyond chance (Breiman's garrote): next to none of what is one
/// standard error, nearly all of what is three.
Vector beyond_noise(const Vector& change, const Vector& se) {
  const Eigen::ArrayXd squared_errors = change.array().square() / se.array().square();
  return change.array() * (1 - squared_errors.max(1).inverse());
}

Gaussian gaussian_of(const ShortChains::Draws& draws, const Gaussian& near) {
  const Vector centre = draws.kept.rowwise().mean();
  const Gaussian found =
      gaussian_of_chains(near, centre, draws.kept, chain_of_columns(draws.kept.cols(), draws.chains));
  return found.transformed(near.mean() - centre, Vector::Ones(centre.size()));
}

}  // namespace

ChainChange::ChainChange(const ChainMoments& chains, const Vector& mean, const Vector& sd)
    : shift((chains.mean - mean).cwiseQuotient(sd)),
      log_sd(chains.sd.cwiseQuotient(sd).array().log()),
      shift_se(chains.mean_se.cwiseQuotient(sd)),
      log_sd_se(chains.log_sd_se) {}

double ChainChange::size(Index i, double standard_errors) const {
  const double larger = std::max(1., std::exp(log_sd(i)));
  return std::max((std::abs(shift(i)) - standard_errors * shift_se(i)) / larger,
                  std::abs(log_sd(i)) - standard_errors * log_sd_se(i));
}

bool ChainChange::suspicious(Index i) const { return size(i) > kDoubt && size(i, kSuspiciousErrors) > 0; }

double ChainChange::error(Index i) const { return std::max(shift_se(i) / std::exp(log_sd(i)), log_sd_se(i)); }

Gaussian corrected(const Gaussian& posterior, const ShortChains::Draws& draws, const Correction& how) {
  const Vector mean = posterior.best().mean(), sd = posterior.best().sd();
  const ChainMoments& chains = draws.coordinates;
  const ChainChange found(chains, mean, sd);
  Matrix bends = how.may_be_skewed ? bends_of(draws.kept) : Matrix();
  Vector scale = beyond_noise(found.log_sd, found.log_sd_se).array().exp();
  Vector moved = mean + sd.cwiseProduct(beyond_noise(found.shift, found.shift_se));
  for (Index i = 0; i < mean.size(); ++i) {
    if (found.size(i) < how.least_change) {
      scale(i) = 1;
      moved(i) = mean(i);
      if (bends.size() > 0) bends.row(i).setZero();
    } else if (bends.size() > 0 && !bends.row(i).isZero(0)) {  // the mean and the sd of that margin
      scale(i) = std::exp(found.log_sd(i));
      moved(i) = chains.mean(i);
    }
  }
  if (!bends.isZero(0))
    return posterior.with_shape(with_margins(posterior.corrected(), {moved, scale.cwiseProduct(sd), bends}));
  const Vector offset = moved - scale.cwiseProduct(mean);
  if (posterior.has_shape()) return posterior.with_shape(posterior.best().rescaled(offset, scale));
  return posterior.without_correction().with_correction(
      posterior.corrected().without_correction().transformed(offset, scale));
}

bool can_be_skewed(const Gaussian& posterior) {
  return posterior.dimension() <= kMostDenseParameters && !posterior.corrected().is_sparse() &&
         (!posterior.has_shape() || posterior.best().shape() == std::string_view("skewed"));
}

Gaussian with_covariance_of(const ShortChains::Draws& draws, const Gaussian& posterior) {
  return posterior.without_correction().with_correction(
      gaussian_of(draws, posterior.corrected().without_correction()));
}

std::optional<Gaussian> other_metric(const Gaussian& metric, const ShortChains::Draws& draws) {
  const ChainChange found(draws.coordinates, metric.mean(), metric.sd());
  const Vector sure = found.log_sd.cwiseAbs() - kSuspiciousErrors * found.log_sd_se;
  if (!(sure.maxCoeff() > kOtherMetric)) return std::nullopt;
  if (metric.dimension() <= kMostDenseParameters) return gaussian_of(draws, metric);
  const Vector scale = beyond_noise(found.log_sd, found.log_sd_se).array().exp();
  return metric.transformed(metric.mean() - scale.cwiseProduct(metric.mean()), scale);
}

}  // namespace magva
