#include "sd_for/estimated_sds.hpp"

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/low_rank_plus_diagonal.hpp"

namespace magva {

namespace {

/// Draws that are taken together, at most: one pass over the data serves all of them.
constexpr Index kDrawsAtOnce = 32;
constexpr Index kFewestEstimateDraws = 64;
/// Enough for kMostSdError, whatever the model.
constexpr Index kMostEstimateDraws = 224;
/// Of x, relative to y, in the inner product of Sigma^-1: far below what draws leave of most sds. Others,
/// those that a factor explains whole, have several times this as their error.
constexpr double kRootResidual = 1e-3;
constexpr double kRootError = 3e-3;
constexpr std::size_t kStepsBetweenChecks = 5;
constexpr std::int64_t kMostLanczosSteps = 150;
constexpr std::int64_t kUsualLanczosSteps = 40;
/// Numbers in the bases of draws that are taken together, at most: half a gigabyte.
constexpr std::int64_t kMostBasisNumbers = 64'000'000;

/// Steps for draws that are taken together, out of so many products for all that are needed at least.
std::int64_t steps_allowed(std::int64_t products, Index draws, Index m) {
  const Index together = draws_at_once(m);
  const std::int64_t batches = std::max<Index>(1, (kFewestEstimateDraws - draws) / together);
  return std::min({kMostLanczosSteps, kMostBasisNumbers / (m * together), products / batches});
}

/// Lanczos iteration from one start: the tridiagonal matrix, and what its inverse root makes of the start.
class LanczosRoot {
 public:
  explicit LanczosRoot(double length) : length_(length) {}

  /// A further row; false where the matrix is seen not to be positive definite.
  bool extend(double diagonal, double below) {
    diagonal_.push_back(diagonal);
    const bool ended = below <= kRootResidual * kRootResidual * diagonal;
    const bool positive = ended || diagonal_.size() % kStepsBetweenChecks == 0 ? check(ended) : true;
    off_.push_back(below);
    return positive;
  }
  bool done() const { return done_; }
  const Vector& coefficients() const { return coefficients_; }

 private:
  /// Done where the last steps have changed little, or the iteration has ended.
  bool check(bool ended) {
    const auto n = static_cast<Index>(diagonal_.size());
    Eigen::SelfAdjointEigenSolver<Matrix> eigen;
    eigen.computeFromTridiagonal(Vector::Map(diagonal_.data(), n), Vector::Map(off_.data(), n - 1));
    if (!(eigen.eigenvalues()(0) > 0)) return false;
    const Vector first = eigen.eigenvectors().row(0).transpose();
    Vector now = length_ * eigen.eigenvectors() * first.cwiseQuotient(eigen.eigenvalues().cwiseSqrt());
    Vector change = now;
    change.head(coefficients_.size()) -= coefficients_;
    done_ = ended || change.norm() <= kRootResidual * std::min(length_, now.norm());
    coefficients_ = std::move(now);
    return true;
  }

  double length_;
  std::vector<double> diagonal_, off_;
  Vector coefficients_;
  bool done_ = false;
};

Vector column_products(const Matrix& a, const Matrix& b) {
  return a.cwiseProduct(b).colwise().sum().transpose();
}

/// 0 where that cannot be divided by: such a start has come to its end.
Vector inverse_or_zero(const Vector& lengths) {
  return (lengths.array() > 0).select(lengths.cwiseInverse(), 0);
}

/// Sums over draws, for the regressions of x on y.
struct RegressionSums {
  Vector xx, xy, yy;
  Index draws = 0;

  explicit RegressionSums(Index m) : xx(Vector::Zero(m)), xy(Vector::Zero(m)), yy(Vector::Zero(m)) {}
  void add(const Matrix& x, const Matrix& y) {
    xx += x.cwiseAbs2().rowwise().sum();
    xy += x.cwiseProduct(y).rowwise().sum();
    yy += y.cwiseAbs2().rowwise().sum();
    draws += x.cols();
  }
};

/// The square of an estimated slope is too large by the slope's own variance.
SdEstimates regress(const RegressionSums& sums, const Vector& variance) {
  const auto n = static_cast<double>(sums.draws);
  const Vector slope = sums.xy.cwiseQuotient(sums.yy);
  const Vector residual = ((sums.xx - slope.cwiseProduct(sums.xy)) / (n - 1)).cwiseMax(0);
  const Vector explained = slope.cwiseAbs2().cwiseProduct(variance);
  const Vector found = explained + residual - residual.cwiseProduct(variance).cwiseQuotient(sums.yy);
  const Vector spread = ((4 * explained + 2 * residual).cwiseProduct(residual) / n).cwiseSqrt();
  const Vector of_draws = .5 * spread.cwiseQuotient(found);
  return {found.cwiseSqrt(), (of_draws.cwiseAbs2().array() + kRootError * kRootError).sqrt(), sums.draws};
}

/// Of draws of the Gaussian from its mean, so many after the first ones.
Matrix next_deviations(const Gaussian& q, std::uint64_t seed, Index first) {
  return q.draws(draws_at_once(q.dimension()), seed, static_cast<std::uint32_t>(first)).colwise() - q.mean();
}

/// Draws of the Gaussian become draws of the response, and these sds.
class SdEstimator {
 public:
  SdEstimator(const Gaussian& q, CurvatureTimes curvature)
      : q_(q), curvature_(std::move(curvature)), variance_(q.sd().cwiseAbs2()), sums_(q.dimension()) {}

  /// False where C is not positive definite, or so many products do not suffice.
  bool add(const Matrix& y, std::int64_t most_products) {
    const CurvatureTimes counted = [&](const Matrix& v) {
      ++products_;
      return curvature_(v);
    };
    const auto x = inverse_root_times(q_, counted, y,
                                      steps_allowed(most_products - products_, sums_.draws, q_.dimension()));
    if (x) sums_.add(*x, y);
    return x.has_value();
  }
  Index draws() const { return sums_.draws; }
  SdEstimates estimates() const { return regress(sums_, variance_); }

 private:
  const Gaussian& q_;
  CurvatureTimes curvature_;
  Vector variance_;
  RegressionSums sums_;
  std::int64_t products_ = 0;
};

/// See estimate_sds(): log sds of `both` less this are without the bias of inverses, and have the variance of
/// C's noise, which is about as large for all parameters.
struct InversionBias {
  Vector excess;
  double variance;

  InversionBias(const SdEstimates& both, const SdEstimates& one, const SdEstimates& other)
      : excess(.5 * (one.sd.array() * other.sd.array()).log() - both.sd.array().log()),
        variance(.25 * (one.sd.array() / other.sd.array()).log().square().mean()) {}

  SdEstimates taken_off(SdEstimates estimates) const {
    estimates.sd.array() *= (-excess).array().exp();
    estimates.se = (estimates.se.array().square() + variance).sqrt();
    return estimates;
  }
};

/// In units of a posterior sd: changes E[-Hessian] by the square, relative.
constexpr double kShortFactor = 1e-5;

}  // namespace

Index draws_at_once(Index dimension) {
  return std::clamp<Index>(kMostBasisNumbers / (dimension * kUsualLanczosSteps), 1, kDrawsAtOnce);
}

// The model multiplies E[-Hessian] by the factors of a Gaussian; so v are further factors, short enough to
// change nothing.
Matrix curvature_times(ExactElbo& elbo, const Gaussian& q, const Matrix& v) {
  Matrix longer(q.dimension(), q.rank() + v.cols());
  longer << q.factors(), kShortFactor * v;
  LowRankDerivatives by;
  elbo.low_rank(q.mean(), longer, q.residual_sd(), by);
  const Matrix of_entropy = LowRankPlusDiagonal(longer, q.residual_sd()).solve(longer);
  return (of_entropy - by.factors).rightCols(v.cols()) / kShortFactor;
}

std::optional<Matrix> inverse_root_times(const Gaussian& q, const CurvatureTimes& curvature, const Matrix& y,
                                         std::int64_t most_products) {
  const Matrix dual = q.solve(y);
  const Vector length = column_products(y, dual).cwiseSqrt();
  std::vector<LanczosRoot> roots;
  for (const double l : length) roots.emplace_back(l);
  Matrix v = y * inverse_or_zero(length).asDiagonal();
  Matrix u = dual * inverse_or_zero(length).asDiagonal();  // Sigma^-1 v
  Matrix before = Matrix::Zero(u.rows(), u.cols());
  Vector below = Vector::Zero(u.cols());
  std::vector<Matrix> basis;
  const auto all_done = [&] {
    return std::all_of(roots.begin(), roots.end(), [](const LanczosRoot& root) { return root.done(); });
  };
  for (std::int64_t k = 0; k < most_products && !all_done(); ++k) {
    Matrix w = curvature(v);
    const Vector along = column_products(v, w);
    w -= u * along.asDiagonal() + before * below.asDiagonal();
    basis.push_back(std::move(v));
    v = q.times(w);
    below = column_products(v, w).cwiseMax(0).cwiseSqrt();
    for (std::size_t j = 0; j < roots.size(); ++j)
      if (!roots[j].done() && !roots[j].extend(along(static_cast<Index>(j)), below(static_cast<Index>(j))))
        return std::nullopt;
    before = std::move(u);
    u = w * inverse_or_zero(below).asDiagonal();
    v *= inverse_or_zero(below).asDiagonal();
  }
  if (!all_done()) return std::nullopt;
  Matrix x = Matrix::Zero(y.rows(), y.cols());
  for (std::size_t j = 0; j < roots.size(); ++j)
    for (Index k = 0; k < roots[j].coefficients().size(); ++k)
      x.col(static_cast<Index>(j)) +=
          roots[j].coefficients()(k) * basis[static_cast<std::size_t>(k)].col(static_cast<Index>(j));
  return x;
}

std::optional<SdEstimates> estimate_sds(const Gaussian& q, const CurvatureTimes& curvature,
                                        std::int64_t most_products, std::uint64_t seed) {
  SdEstimator estimator(q, curvature);
  while (estimator.draws() < kMostEstimateDraws) {
    if (!estimator.add(next_deviations(q, seed, estimator.draws()), most_products)) return std::nullopt;
    if (estimator.draws() < kFewestEstimateDraws) continue;
    SdEstimates out = estimator.estimates();
    if (out.se.maxCoeff() <= kMostSdError) return out;
  }
  return std::nullopt;
}

std::optional<SdEstimates> estimate_sds(const Gaussian& q, const CurvatureTimes& one,
                                        const CurvatureTimes& other, std::int64_t most_products,
                                        std::uint64_t seed) {
  SdEstimator by_both(q, [&](const Matrix& v) { return Matrix(.5 * (one(v) + other(v))); });
  SdEstimator by_one(q, one), by_other(q, other);
  while (by_both.draws() < kFewestEstimateDraws) {
    const Matrix y = next_deviations(q, seed, by_both.draws());
    for (SdEstimator* estimator : {&by_both, &by_one, &by_other})
      if (!estimator->add(y, most_products)) return std::nullopt;
  }
  const InversionBias bias(by_both.estimates(), by_one.estimates(), by_other.estimates());
  while (true) {
    SdEstimates out = bias.taken_off(by_both.estimates());
    if (out.se.maxCoeff() <= kMostSdError) return out;
    if (by_both.draws() >= kMostEstimateDraws) return std::nullopt;
    if (!by_both.add(next_deviations(q, seed, by_both.draws()), most_products)) return std::nullopt;
  }
}

}  // namespace magva
