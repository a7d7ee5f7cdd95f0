#pragma once
// The search over local maxima of low-rank Gaussians. For a Gaussian posterior with precision A these are
// many, some hundredths to tenths of a nat apart, and those of the exact ELBO lie close to those for A =
// E[-Hessian]: so they are sought there, where an evaluation takes no pass over the data.
#include <functional>
#include <vector>

#include "magva/workers.hpp"
#include "search/quadratic_fit.hpp"

namespace magva {

/// The other factors from which an ascent is worth a try. The residuals start from the conditional sds c
/// again.
///
/// A factor may explain one coordinate j whole, and of the others what depends on it: alone, beside
/// independent residuals, it gains log(Sigma_jj / c_j^2) / 2 nats over them, and p of these for coordinates J
/// gain log(|Sigma_JJ| / prod c_j^2) / 2. So where columns are highly correlated there are about as many
/// local maxima as sets of p columns, and which coordinates to try first is known.
class FactorMoves {
 public:
  FactorMoves(ConstMatrixRef precision, std::uint64_t seed);
  /// All factors random.
  Matrix random(Index rank, std::uint64_t number) const;
  /// Each explains a coordinate, the one of which the others leave most: a pivoted Cholesky factor of Sigma
  /// in conditional sds.
  Matrix greedy(Index rank) const;
  /// One factor replaced: in turn by a small random one, and by one that explains a coordinate, those first
  /// of which the other factors leave most. `tried`: how many moves of these factors there have been.
  Matrix move(ConstMatrixRef factors, std::uint64_t tried, std::uint64_t number) const;
  const Vector& conditional_sd() const { return conditional_sd_; }

 private:
  /// What is left of the covariance with a coordinate, as a factor.
  Vector explaining(ConstMatrixRef others, Index coordinate) const;
  /// The shares of conditional variances that these factors leave.
  Vector left_by(ConstMatrixRef factors) const;

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
