#include "mixture/hyper_parameters.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>

#include "core/noise.hpp"

namespace magva {

namespace {

/// Pairs of draws.
constexpr Index kHyperPairs = 64;

/// Second differences of gradients at draws +-d, without the pairs at which one is not finite.
Matrix second_differences(Evaluator& evaluator, const Vector& mean, const Vector& gradient, const Matrix& d) {
  const Index pairs = d.cols();
  Matrix theta(mean.size(), 2 * pairs);
  theta.leftCols(pairs) = d.colwise() + mean;
  theta.rightCols(pairs) = (-d).colwise() + mean;
  Vector log_density(2 * pairs);
  Matrix there(mean.size(), 2 * pairs);
  evaluator.evaluate(theta, log_density, there);
  Matrix out(mean.size(), pairs);
  Index kept = 0;
  for (Index s = 0; s < pairs; ++s)
    if (std::isfinite(log_density(s)) && std::isfinite(log_density(pairs + s)))
      out.col(kept++) = there.col(s) + there.col(pairs + s) - 2 * gradient;
  return out.leftCols(kept);
}

/// A Gaussian given some of its coordinates.
class GivenCoordinates {
 public:
  explicit GivenCoordinates(const Gaussian& q)
      : q_(q), columns_(q.dimension(), 0), variance_(q.sd().cwiseAbs2()) {}

  void fix(Index coordinate) {
    fixed_.push_back(coordinate);
    columns_.conservativeResize(Eigen::NoChange, columns_.cols() + 1);
    columns_.rightCols(1) = q_.covariance_row(coordinate);
    const Matrix among = columns_(fixed_, Eigen::all);
    weights_ = among.llt().solve(columns_.transpose());
    variance_ = q_.sd().cwiseAbs2() - columns_.cwiseProduct(weights_.transpose()).rowwise().sum();
  }
  /// What is left of deviations, or of the covariance times something.
  Matrix left_of(const Matrix& x) const {
    if (fixed_.empty()) return x;
    return x - weights_.transpose() * x(fixed_, Eigen::all);
  }
  const Vector& variance() const { return variance_; }
  const std::vector<Index>& fixed() const { return fixed_; }

 private:
  const Gaussian& q_;
  std::vector<Index> fixed_;
  Matrix columns_;  // of the covariance
  Matrix weights_;  // of the fixed coordinates, for each coordinate
  Vector variance_;
};

/// |T_k|^2 / 2 of each coordinate, along the line of conditional means.
Vector losses(const Gaussian& q, const GivenCoordinates& given, const Matrix& differences) {
  const Matrix along = given.left_of(q.times(differences));
  const Matrix centred = along.colwise() - along.rowwise().mean();
  Vector out =
      centred.rowwise().squaredNorm() / (4 * static_cast<double>(std::max<Index>(1, along.cols() - 1)));
  out.array() /= given.variance().array();
  for (const Index i : given.fixed()) out(i) = 0;
  return out;
}

/// The coordinate that loses most, of some.
Index worst_of(const Vector& loss, const std::vector<Index>& candidates) {
  return *std::max_element(candidates.begin(), candidates.end(),
                           [&](Index a, Index b) { return loss(a) < loss(b); });
}

}  // namespace

std::vector<Index> find_hyper_parameters(Evaluator& evaluator, const Gaussian& q, std::uint64_t seed,
                                         double least_loss, const std::vector<Index>& known) {
  Vector gradient(q.dimension());
  if (!std::isfinite(evaluator.evaluate(q.mean(), gradient))) return {};
  Matrix noise(q.noise_size(), kHyperPairs);
  Noise(seed, NoiseStream::kRandomPoint).fill(0, 0, noise);
  const Matrix deviations = q.deviations(noise);
  GivenCoordinates given(q);
  while (given.fixed().size() < kMostHyperParameters) {
    const Matrix differences = second_differences(evaluator, q.mean(), gradient, given.left_of(deviations));
    if (differences.cols() < kHyperPairs / 2) break;
    const Vector loss = losses(q, given, differences);
    Index worst = known.empty() ? 0 : worst_of(loss, known);
    if (known.empty() || !(loss(worst) > least_loss)) loss.maxCoeff(&worst);
    if (!(loss(worst) > least_loss)) break;
    given.fix(worst);
  }
  return given.fixed();
}

}  // namespace magva
