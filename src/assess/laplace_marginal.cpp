#include "assess/laplace_marginal.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/noise.hpp"

namespace magva {

namespace {

/// Points: so far apart up to kEvenPoints of them on each side, then each further by kGrowth, out to
/// kLastPoint.
constexpr double kSpacing = .5;
constexpr int kEvenPoints = 8;
constexpr double kGrowth = 1.25;
constexpr double kLastPoint = 60;
/// A side ends where the density has fallen by this many nats.
constexpr double kEndFall = 12;
/// Of a difference of gradients, in conditional sds.
constexpr double kHessianStep = 1e-3;
/// A mode is found where a Newton step would gain less; steps of each shorter length that are tried at once.
constexpr double kModeGain = 5e-3;
constexpr int kModeSteps = 12;
constexpr int kStepLengths = 6;

/// Antithetic pairs of draws around every mode, and the share of them that must be effective, on average.
constexpr Index kPairsAround = 8;
constexpr double kLeastShare = .75;
/// Of a search for one mode, about, for an estimate of the cost.
constexpr std::int64_t kUsualPoints = 25;
constexpr std::int64_t kUsualSteps = 2;

/// Given theta_i: the line of conditional means, and the others' conditional covariance as basis basis'.
struct Conditional {
  const Gaussian& q;
  Index coordinate;
  Vector direction;
  Matrix basis;  // m x (m - 1); its row i is 0

  static std::optional<Conditional> of(const Gaussian& q, Index i) {
    const Index m = q.dimension();
    Vector direction = q.covariance_row(i);
    direction /= std::sqrt(direction(i));
    std::vector<Index> others;
    for (Index k = 0; k < m; ++k)
      if (k != i) others.push_back(k);
    Matrix covariance(m, m);
    for (Index k = 0; k < m; ++k) covariance.col(k) = q.covariance_row(k);
    covariance -= direction * direction.transpose();
    const Eigen::LLT<Matrix> factor(Matrix(covariance(others, others)));
    if (factor.info() != Eigen::Success) return std::nullopt;
    Matrix basis = Matrix::Zero(m, m - 1);
    basis(others, Eigen::all) = Matrix(factor.matrixL());
    return Conditional{q, i, std::move(direction), std::move(basis)};
  }

  Vector at(double z, const Vector& v) const { return q.mean() + z * direction + basis * v; }
};

/// The log density around a point, by the others' coordinates.
struct LocalQuadratic {
  double value;
  Vector gradient;
  Matrix curvature;
};

std::optional<LocalQuadratic> local_quadratic(Evaluator& evaluator, const Conditional& given, double z,
                                              const Vector& v) {
  const Index free = v.size();
  Matrix theta = given.at(z, v).replicate(1, free + 1);
  theta.rightCols(free) += kHessianStep * given.basis;
  Vector log_density(free + 1);
  Matrix gradient(theta.rows(), free + 1);
  evaluator.evaluate(theta, log_density, gradient);
  if (!log_density.allFinite()) return std::nullopt;
  const Matrix slope = given.basis.transpose() * gradient;
  const Matrix bend = (slope.rightCols(free).colwise() - slope.col(0)) / kHessianStep;
  return LocalQuadratic{log_density(0), slope.col(0), -.5 * (bend + bend.transpose())};
}

/// The best of the given step, its half, a quarter and so on; false where none leads up.
bool take_best_length(Evaluator& evaluator, const Conditional& given, double z, double value,
                      const Vector& step, Vector& v) {
  Matrix theta(given.basis.rows(), kStepLengths);
  for (int k = 0; k < kStepLengths; ++k) theta.col(k) = given.at(z, v + std::ldexp(1., -k) * step);
  const Vector log_density = evaluator.evaluate_values(theta);
  Index best = 0;
  if (!(log_density.maxCoeff(&best) > value)) return false;
  v += std::ldexp(1., -static_cast<int>(best)) * step;
  return true;
}

/// The log marginal density at a point, up to a constant, the share of the draws that were effective, and the
/// moments of all coordinates there, about q's means and in q's sds.
struct MarginalPoint {
  double z, log_density, share;
  Vector mean, square;
};

class MarginalWalk {
 public:
  MarginalWalk(Evaluator& evaluator, const Conditional& given, std::uint64_t seed)
      : evaluator_(evaluator), given_(given), sd_(given.q.sd()), noise_(given.basis.cols(), kPairsAround) {
    Noise(seed, NoiseStream::kRandomPoint).fill(0, 0, noise_);
  }

  /// Moves v to the conditional mode.
  std::optional<MarginalPoint> at(double z, Vector& v) const {
    for (int k = 0; k < kModeSteps; ++k) {
      const auto here = local_quadratic(evaluator_, given_, z, v);
      if (!here) return std::nullopt;
      const Eigen::LLT<Matrix> factor(here->curvature);
      const bool concave = factor.info() == Eigen::Success;
      const Vector step = concave ? Vector(factor.solve(here->gradient)) : here->gradient;
      if (concave && .5 * here->gradient.dot(step) < kModeGain)
        return with_draws(z, v + step, here->value + .5 * here->gradient.dot(step), factor);
      if (!take_best_length(evaluator_, given_, z, here->value, step, v)) return std::nullopt;
    }
    return std::nullopt;
  }

  /// Away from 0 on one side, each point's search from the mode of the one before; `sign`: 1 or -1. Ends
  /// where there is no mass left, or no mode: false if there is still mass.
  bool walk(double sign, Vector v, std::vector<MarginalPoint>& points) const {
    double largest = points.front().log_density;
    double z = 0;
    for (int k = 0; z < kLastPoint; ++k) {
      z = k < kEvenPoints ? z + kSpacing : kGrowth * z;
      const auto point = at(sign * z, v);
      if (!point) return largest - points.back().log_density > kEndFall / 2;
      points.push_back(*point);
      largest = std::max(largest, point->log_density);
      if (point->log_density < largest - kEndFall) return true;
    }
    return true;
  }

 private:
  /// Laplace's value, times the mean of the posterior's density over that of its Gaussian at draws of the
  /// latter.
  MarginalPoint with_draws(double z, const Vector& mode, double value,
                           const Eigen::LLT<Matrix>& curvature) const {
    const Index pairs = noise_.cols();
    Matrix theta(given_.basis.rows(), 2 * pairs);
    const Matrix around = given_.basis * curvature.matrixU().solve(noise_);
    theta.leftCols(pairs) = around;
    theta.rightCols(pairs) = -around;
    theta.colwise() += given_.at(z, mode);
    const Vector log_density = evaluator_.evaluate_values(theta);
    const Vector fall = .5 * noise_.colwise().squaredNorm().transpose().replicate(2, 1);
    const Vector weights = (log_density - Vector::Constant(2 * pairs, value) + fall).array().exp();
    const double sum = weights.sum();
    const Matrix root = curvature.matrixL();
    MarginalPoint out{
        z,
        value - root.diagonal().array().log().sum() + std::log(sum / static_cast<double>(2 * pairs)),
        sum * sum / (weights.squaredNorm() * static_cast<double>(2 * pairs)),
        {},
        {}};
    set_moments(theta, weights / sum, given_.at(z, mode), curvature, out);
    return out;
  }

  /// Those of the Gaussian at the mode, and what the draws' weights change.
  void set_moments(const Matrix& theta, const Vector& shares, const Vector& mode,
                   const Eigen::LLT<Matrix>& curvature, MarginalPoint& out) const {
    const Index free = noise_.rows();
    const Matrix half = sd_.cwiseInverse().asDiagonal() * given_.basis *
                        curvature.matrixU().solve(Matrix::Identity(free, free));
    const Vector centre = (mode - given_.q.mean()).cwiseQuotient(sd_);
    const Matrix drawn = sd_.cwiseInverse().asDiagonal() * (theta.colwise() - given_.q.mean());
    const Vector change = shares.array() - 1 / static_cast<double>(shares.size());
    out.mean = centre + drawn * change;
    out.square = centre.cwiseAbs2() + half.rowwise().squaredNorm() + drawn.cwiseAbs2() * change;
  }

  Evaluator& evaluator_;
  const Conditional& given_;
  Vector sd_;
  Matrix noise_;  // of the draws around every mode
};

/// Means and sds by the density through these points, each of which counts by its mass; that of the walk's
/// own coordinate by the density itself.
std::optional<std::vector<MarginalError>> summarise_walk(std::vector<MarginalPoint> points,
                                                         Index coordinate) {
  std::sort(points.begin(), points.end(),
            [](const MarginalPoint& a, const MarginalPoint& b) { return a.z < b.z; });
  const auto count = static_cast<Index>(points.size());
  Vector z(count), log_values(count);
  for (Index k = 0; k < count; ++k) {
    z(k) = points[static_cast<std::size_t>(k)].z;
    log_values(k) = points[static_cast<std::size_t>(k)].log_density;
  }
  if (!log_values.allFinite()) return std::nullopt;
  const LineDensity density(z, log_values);
  double mass = 0, share = 0;
  Vector mean = Vector::Zero(points.front().mean.size());
  Vector square = mean;
  for (Index k = 1; k + 1 < count; ++k) {
    const MarginalPoint& point = points[static_cast<std::size_t>(k)];
    const double part = density(z(k)) * (z(k + 1) - z(k - 1));
    mass += part;
    share += part * point.share;
    mean += part * point.mean;
    square += part * point.square;
  }
  if (!(share >= kLeastShare * mass)) return std::nullopt;
  const double effective = share / mass * static_cast<double>(2 * kPairsAround * count);
  std::vector<MarginalError> out;
  for (Index j = 0; j < mean.size(); ++j) {
    const double shift = mean(j) / mass;
    out.push_back({j, shift, std::sqrt(std::max(0., square(j) / mass - shift * shift)), effective});
  }
  out[static_cast<std::size_t>(coordinate)] = {coordinate, density.mean(), density.sd(), effective};
  return out;
}

}  // namespace

std::int64_t laplace_marginal_cost(Index dimension) {
  return kUsualPoints * (kUsualSteps * (dimension + kStepLengths) + 2 * kPairsAround);
}

std::optional<std::vector<MarginalError>> laplace_marginals(Evaluator& evaluator, const Gaussian& q, Index i,
                                                            std::uint64_t seed) {
  if (q.dimension() < 2) return std::nullopt;
  const auto given = Conditional::of(q, i);
  if (!given) return std::nullopt;
  const MarginalWalk walk(evaluator, *given, seed);
  Vector v = Vector::Zero(q.dimension() - 1);
  const auto centre = walk.at(0, v);
  if (!centre) return std::nullopt;
  std::vector<MarginalPoint> points{*centre};
  if (!walk.walk(1, v, points) || !walk.walk(-1, v, points)) return std::nullopt;
  return summarise_walk(std::move(points), i);
}

std::optional<MarginalError> laplace_marginal(Evaluator& evaluator, const Gaussian& q, Index i,
                                              std::uint64_t seed) {
  const auto found = laplace_marginals(evaluator, q, i, seed);
  return found ? std::optional((*found)[static_cast<std::size_t>(i)]) : std::nullopt;
}

}  // namespace magva
