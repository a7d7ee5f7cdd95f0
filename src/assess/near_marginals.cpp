#include "assess/near_marginals.hpp"

#include <algorithm>
#include <cmath>

#include "assess/pareto.hpp"
#include "core/elbo.hpp"

namespace magva {

namespace {

/// Fewer effective draws decide nothing; half of all if that is fewer.
constexpr double kLeastEffective = 100;
/// A marginal is near if it is by so many standard errors: with those of a few hundredths that the draws
/// leave, one that is a quarter of an sd off is then hardly ever taken for near.
constexpr double kStandardErrors = 1;

bool shown_near(const Vector& change, const Vector& se, Index i, double bound) {
  return std::abs(change(i)) + kStandardErrors * se(i) < bound;
}

}  // namespace

// With weights w, c = w - 1 / draws and z in q's sds: the mean is sum c z, the second moment 1 + sum c z^2;
// the squared standard errors are sums of squares of c z - w shift and of c z^2 - w square + 1 / draws.
WeightedChange weighted_change(const Gaussian& q, std::uint64_t seed, ConstVectorRef weights,
                               Workers& workers) {
  const Index m = q.dimension();
  const double each = 1 / static_cast<double>(weights.size());
  const Vector inverse_sd = q.sd().cwiseInverse();
  Vector first = Vector::Zero(m), second = first;    // sums of c z, c z^2
  Vector weighted = first, weighted_square = first;  // of c w z, c w z^2
  Vector square_size = first, fourth_size = first;   // of (c z)^2, (c z^2)^2
  const Index block = elbo_block(q);
  for (Index begin = 0; begin < weights.size(); begin += block) {
    const Index count = std::min(block, weights.size() - begin);
    const Vector w = weights.segment(begin, count);
    const Vector c = w.array() - each;
    const Matrix z =
        inverse_sd.asDiagonal() * (elbo_draws(q, seed, begin, count, workers).colwise() - q.mean());
    const Matrix square = z.cwiseAbs2();
    first += z * c;
    second += square * c;
    weighted += z * c.cwiseProduct(w);
    weighted_square += square * c.cwiseProduct(w);
    square_size += square * c.cwiseAbs2();
    fourth_size += square.cwiseAbs2() * c.cwiseAbs2();
  }
  const double weight_size = weights.squaredNorm();
  const Eigen::ArrayXd moment = 1 + second.array();
  const Eigen::ArrayXd variance = moment - first.array().square();
  const Eigen::ArrayXd mean_error =
      square_size.array() - 2 * first.array() * weighted.array() + first.array().square() * weight_size;
  const Eigen::ArrayXd moment_error = fourth_size.array() - 2 * moment * weighted_square.array() +
                                      2 * each * second.array() + moment.square() * weight_size -
                                      2 * each * moment + each;
  return {first, .5 * variance.log(), mean_error.max(0).sqrt(), .5 * moment_error.max(0).sqrt() / variance};
}

std::vector<bool> near_marginals(const Gaussian& q, std::uint64_t seed, const SmoothedWeights& weights,
                                 double bound, Workers& workers) {
  if (!(weights.khat <= kDoubtfulKhat) ||
      weights.effective < std::min(kLeastEffective, .5 * static_cast<double>(weights.log_weights.size())))
    return {};
  const WeightedChange change = weighted_change(q, seed, weights.log_weights.array().exp().matrix(), workers);
  std::vector<bool> near;
  for (Index i = 0; i < q.dimension(); ++i)
    near.push_back(shown_near(change.shift, change.shift_se, i, bound) &&
                   shown_near(change.log_sd, change.log_sd_se, i, bound));
  return near;
}

}  // namespace magva
