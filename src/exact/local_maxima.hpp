#pragma once
// The search over local maxima of low-rank Gaussians. For a Gaussian posterior with precision A these are
// many, some hundredths to tenths of a nat apart, and those of the exact ELBO lie close to those for A =
// E[-Hessian]: so they are sought there, where an evaluation takes no pass over the data.
#include <functional>
#include <vector>

#include "magva/workers.hpp"
#include "search/quadratic_fit.hpp"

namespace magva {

/// The other factors from which an ascent is worth a try: one factor is replaced by a small random one, or by
/// the one that would explain a coordinate whole, and the residuals start from the conditional sds again.
class FactorMoves {
 public:
  FactorMoves(ConstMatrixRef precision, std::uint64_t seed);
  /// All factors random.
  Matrix random(Index rank, std::uint64_t number) const;
  Matrix move(ConstMatrixRef factors, std::uint64_t number) const;
  const Vector& conditional_sd() const { return conditional_sd_; }

 private:
  Vector conditional_sd_;
  Matrix covariance_;
  std::uint64_t seed_;
};

/// Distinct local maxima for the precision, the highest first, found from `from` and from random places: as
/// many ascents as are worth their while for that size. The same for any number of workers.
std::vector<QuadraticFit> search_local_maxima(ConstMatrixRef precision, const QuadraticFit& from,
                                              Workers& workers, std::uint64_t seed,
                                              const std::function<bool()>& go_on);

}  // namespace magva
