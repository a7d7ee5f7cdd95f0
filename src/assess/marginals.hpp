#pragma once
// Where the Gaussian's own draws do not go: each coordinate's marginal, far out on both sides.
//
// Along theta_i the posterior is looked at on the line of conditional means, mu + z Sigma e_i / sd_i. What it
// does there, normalised, is a first approximation of the marginal of z. Where that is not N(0, 1), Laplace's
// method decides, where it can, or an importance sample with that proposal.
#include <cstdint>
#include <optional>
#include <vector>

#include "assess/posterior_sample.hpp"
#include "core/evaluator.hpp"
#include "magva/posterior.hpp"

namespace magva {

/// A mean that is further off, in sds, or an sd, by its logarithm, is in doubt: between the tenth that nobody
/// minds and the quarter that misleads.
inline constexpr double kDoubt = .17;

/// How far the posterior's marginal of a coordinate is from the Gaussian's.
struct MarginalError {
  Index coordinate;
  double shift;            ///< of the mean, in sds of the Gaussian
  double sd_ratio;         ///< the posterior's sd over the Gaussian's
  double effective_draws;  ///< behind these figures; 0: they are those of the line alone
  double se = 0;           ///< the larger standard error of the shift in sds and of log sd_ratio
  /// The larger of the shift in sds and |log sd_ratio|.
  double size() const;
};

struct MarginalReport {
  std::vector<MarginalError> errors;     ///< the worst first
  std::vector<PosteriorSample> samples;  ///< behind them, where there are few parameters
  bool all_known = false;                ///< every marginal, by walks of Laplace's method that are sure
};

/// The coordinates whose marginal is not the Gaussian's. Looks at all coordinates up to some hundreds, at a
/// part of them beyond; not at those that are known to be `near`, if any are.
MarginalReport check_marginals(Evaluator& evaluator, const Gaussian& q, std::uint64_t seed,
                               const std::vector<bool>& near = {});

/// Adds, of the coordinates that are not in the report, those whose marginal is not the Gaussian's by
/// Laplace's method. A line of conditional means does not see what moves of several coordinates at once make
/// of a marginal: that of a location whose scale is another coordinate. Nothing where there are too many.
void check_other_marginals(Evaluator& evaluator, const Gaussian& q, std::uint64_t seed,
                           const std::vector<bool>& near, MarginalReport& report);

/// A density that is linear between grid points, normalised: of z on such a line.
class LineDensity {
 public:
  /// `log_values` at ascending points, up to a constant; -infinity is 0. At least one must be finite.
  LineDensity(Vector points, const Vector& log_values);

  double operator()(double z) const;
  double mean() const { return mean_; }
  double sd() const { return sd_; }
  /// The point below which a share u of the mass lies.
  double quantile(double u) const;

 private:
  Vector points_;
  Vector density_;
  Vector below_;  // mass left of each point
  double mean_ = 0;
  double sd_ = 0;
};

}  // namespace magva
