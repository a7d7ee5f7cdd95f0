#include "assess/laplace_marginal.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <iterator>
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

/// Antithetic pairs of draws around every mode: at least so many, and so many for each of the others, whose
/// second moments they can have then; the most of them where a smaller share than kSureShare is effective at
/// the first mode. The least share, on average over the walk, below which the others are not near a Gaussian;
/// its power where they are more than kShareDimensions, as small differences add up.
constexpr Index kFewestWalkPairs = 8;
constexpr Index kWalkPairsEach = 4;
constexpr Index kMostWalkPairs = 64;
constexpr double kSureShare = .9;
constexpr double kLeastShare = .75;
constexpr double kShareDimensions = 8;
/// A first look far out: places in sds, and the fall of the log marginal density, from its largest value so
/// far, below which it has mass there that matters for an sd; 2 more for each doubled distance. Beyond
/// kFarEnd it is not followed any further.
constexpr double kFarPlaces[] = {3, 6, 12, 24};
constexpr double kNearPlace = 3;
constexpr double kFarMassFall = 9;
constexpr double kFarEnd = 40;
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

/// The log marginal density at a point, up to a constant; the draws around its mode, their weights, which sum
/// to 1, and the Gaussian's moments there, about q's means and in q's sds.
struct MarginalPoint {
  double z, log_density;
  Matrix theta;
  Vector weights;
  Vector mean, square;

  double share() const { return 1 / (weights.squaredNorm() * static_cast<double>(weights.size())); }
};

struct PathMode {
  double z, log_density;
  Vector theta;
};

Index usual_pairs(Index others) {
  return std::clamp(kWalkPairsEach * others, kFewestWalkPairs, kMostWalkPairs);
}

/// Noise of pairs of draws; with the second moments of the normal distribution, if there are enough of them.
Matrix walk_noise(Index dimension, Index pairs, std::uint64_t seed) {
  Matrix noise(dimension, pairs);
  Noise(seed, NoiseStream::kRandomPoint).fill(0, 0, noise);
  if (pairs < 2 * dimension) return noise;
  const Eigen::LLT<Matrix> moments(noise * noise.transpose() / static_cast<double>(pairs));
  return moments.matrixL().solve(noise);
}

class MarginalWalk {
 public:
  MarginalWalk(Evaluator& evaluator, const Conditional& given, std::uint64_t seed)
      : evaluator_(evaluator),
        given_(given),
        seed_(seed),
        noise_(walk_noise(given.basis.cols(), usual_pairs(given.basis.cols()), seed)) {}

  void take_more_draws() { noise_ = walk_noise(noise_.rows(), kMostWalkPairs, seed_); }

  /// Moves v to the conditional mode.
  std::optional<MarginalPoint> at(double z, Vector& v) const {
    const auto mode = find_mode(z, v);
    if (!mode) return std::nullopt;
    return with_draws(z, v, mode->value, mode->curvature);
  }

  /// Whether the density comes back, or goes on, far from where q has its mass, by Laplace's value alone.
  bool has_far_mass() const {
    Vector centre = Vector::Zero(noise_.rows());
    const auto mode = find_mode(0, centre);
    if (!mode) return false;
    for (const double sign : {1., -1.}) {
      Vector v = centre;
      double bound = kFarMassFall;
      for (const double place : kFarPlaces) {
        const auto there = find_mode(sign * place, v);
        if (!there) break;
        const double fall = mode->laplace() - there->laplace();
        if (place > kNearPlace && fall < bound) return true;
        if (fall > kFarEnd) break;
        if (place > kNearPlace) bound += 2;
      }
    }
    return false;
  }

  /// Adds the modes on one side, from the mode v at 0. The last step shows where a ridge leads.
  void follow(double sign, Vector v, const std::function<double(ConstVectorRef)>& log_part,
              std::vector<PathMode>& path) const {
    double largest = path.front().log_density;
    double largest_part = largest + log_part(path.front().theta);
    Vector slope = Vector::Zero(v.size());
    double z = 0;
    for (int k = 0; z < kLastPoint; ++k) {
      const double next = k < kEvenPoints ? z + kSpacing : kGrowth * z;
      Vector to = v + (next - z) * slope;
      auto mode = find_mode(sign * next, to);
      if (!mode) mode = find_mode(sign * next, to = v);
      if (!mode) return;
      slope = (to - v) / (next - z);
      v = std::move(to);
      z = next;
      path.push_back({sign * z, mode->laplace(), given_.at(sign * z, v)});
      const double part = path.back().log_density + log_part(path.back().theta);
      if (!std::isfinite(part)) return path.pop_back();
      largest = std::max(largest, path.back().log_density);
      largest_part = std::max(largest_part, part);
      if (path.back().log_density < largest - kEndFall && part < largest_part - kEndFall) return;
    }
  }

  std::optional<std::vector<PathMode>> modes(const std::function<double(ConstVectorRef)>& log_part) const {
    Vector v = Vector::Zero(noise_.rows());
    const auto mode = find_mode(0, v);
    if (!mode) return std::nullopt;
    std::vector<PathMode> path{{0, mode->laplace(), given_.at(0, v)}};
    follow(1, v, log_part, path);
    follow(-1, v, log_part, path);
    return path;
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
  struct Mode {
    double value;
    Eigen::LLT<Matrix> curvature;
    double laplace() const { return value - Matrix(curvature.matrixL()).diagonal().array().log().sum(); }
  };

  /// Moves v there.
  std::optional<Mode> find_mode(double z, Vector& v) const {
    for (int k = 0; k < kModeSteps; ++k) {
      const auto here = local_quadratic(evaluator_, given_, z, v);
      if (!here) return std::nullopt;
      Eigen::LLT<Matrix> factor(here->curvature);
      const bool concave = factor.info() == Eigen::Success;
      const Vector step = concave ? Vector(factor.solve(here->gradient)) : here->gradient;
      const double gain = .5 * here->gradient.dot(step);
      if (concave && gain < kModeGain) {
        v += step;
        return Mode{here->value + gain, std::move(factor)};
      }
      if (!take_best_length(evaluator_, given_, z, here->value, step, v)) return std::nullopt;
    }
    return std::nullopt;
  }

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
    const Vector sd = given_.q.sd();
    const Matrix half = sd.cwiseInverse().asDiagonal() * given_.basis *
                        curvature.matrixU().solve(Matrix::Identity(noise_.rows(), noise_.rows()));
    const Vector centre = (given_.at(z, mode) - given_.q.mean()).cwiseQuotient(sd);
    return {z,
            value - root.diagonal().array().log().sum() + std::log(sum / static_cast<double>(2 * pairs)),
            std::move(theta),
            weights / sum,
            centre,
            centre.cwiseAbs2() + half.rowwise().squaredNorm()};
  }

  Evaluator& evaluator_;
  const Conditional& given_;
  std::uint64_t seed_;
  Matrix noise_;  // of the draws around every mode
};

/// Sums over the walk, of z and its squares: of their moments, and of what each pair of draws adds to them.
struct WalkSums {
  WalkSums(Index dimension, Index pairs)
      : mean(Vector::Zero(dimension)),
        square(mean),
        mean_of_pair(Matrix::Zero(dimension, pairs)),
        square_of_pair(mean_of_pair) {}

  // The Gaussian's moments, and what the draws' weights change.
  void add(const MarginalPoint& point, double part, const Matrix& z) {
    const Vector change = part * (point.weights.array() - 1 / static_cast<double>(z.cols()));
    mean += part * point.mean + z * change;
    square += part * point.square + z.cwiseAbs2() * change;
  }
  /// After all have been added: deviations from the whole's moments with the draws' weights, less those from
  /// the point's own with equal ones.
  void add_errors(const MarginalPoint& point, double part, const Matrix& z) {
    const double each = 1 / static_cast<double>(z.cols());
    const Index pairs = mean_of_pair.cols();
    const Matrix squares = z.cwiseAbs2();
    for (Index c = 0; c < z.cols(); ++c) {
      mean_of_pair.col(c % pairs) +=
          part * (point.weights(c) * (z.col(c) - mean) - each * (z.col(c) - point.mean));
      square_of_pair.col(c % pairs) +=
          part * (point.weights(c) * (squares.col(c) - square) - each * (squares.col(c) - point.square));
    }
  }

  Vector mean, square;
  Matrix mean_of_pair, square_of_pair;
};

/// Means and sds by the density through these points, each of which counts by its mass; that of the walk's
/// own coordinate by the density itself.
std::optional<LaplaceWalk> summarise_walk(std::vector<MarginalPoint> points, const Gaussian& q,
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
  if (count < 3) return std::nullopt;
  Vector part = Vector::Zero(count);
  for (Index k = 1; k + 1 < count; ++k) part(k) = density(z(k)) * (z(k + 1) - z(k - 1));
  part /= part.sum();

  const Index m = q.dimension(), draws = points.front().weights.size();
  const Vector sd = q.sd();
  const auto standardised = [&](const MarginalPoint& point) -> Matrix {
    return sd.cwiseInverse().asDiagonal() * (point.theta.colwise() - q.mean());
  };
  const Index inner = count - 2;  // the ends have no mass
  LaplaceWalk out{{}, {Matrix(m, inner * draws), Vector(inner * draws), draws / 2}};
  WalkSums sums(m, draws / 2);
  double share = 0;
  for (Index k = 1; k <= inner; ++k) {
    const MarginalPoint& point = points[static_cast<std::size_t>(k)];
    share += part(k) * point.share();
    sums.add(point, part(k), standardised(point));
    out.sample.theta.middleCols((k - 1) * draws, draws) = point.theta;
    out.sample.weights.segment((k - 1) * draws, draws) = part(k) * point.weights;
  }
  const double dimensions = std::max(1., static_cast<double>(m - 1) / kShareDimensions);
  if (!(share >= std::pow(kLeastShare, dimensions))) return std::nullopt;
  for (Index k = 1; k <= inner; ++k)
    sums.add_errors(points[static_cast<std::size_t>(k)], part(k),
                    standardised(points[static_cast<std::size_t>(k)]));

  const double effective = share * static_cast<double>(draws * count);
  const Vector variance = sums.square - sums.mean.cwiseAbs2();
  const Vector shift_se = standard_errors(sums.mean_of_pair);
  const Vector variance_se =
      standard_errors(sums.square_of_pair - 2 * sums.mean.asDiagonal() * sums.mean_of_pair);
  for (Index j = 0; j < m; ++j) {
    const double ratio = std::sqrt(std::max(0., variance(j)));
    const double se = std::max(shift_se(j) / std::max(1., ratio), .5 * variance_se(j) / variance(j));
    out.errors.push_back({j, sums.mean(j), ratio, effective, se});
  }
  MarginalError& own = out.errors[static_cast<std::size_t>(coordinate)];
  own.shift = density.mean();
  own.sd_ratio = density.sd();
  return out;
}

}  // namespace

std::int64_t laplace_marginal_cost(Index dimension) {
  return kUsualPoints * (kUsualSteps * (dimension + kStepLengths) + usual_pairs(dimension - 1));
}

std::int64_t far_mass_cost(Index dimension) {
  return 2 * static_cast<std::int64_t>(std::size(kFarPlaces)) * kUsualSteps * (dimension + kStepLengths);
}

bool has_far_mass(Evaluator& evaluator, const Gaussian& q, Index i) {
  if (q.dimension() < 2) return false;
  const auto given = Conditional::of(q, i);
  return given && MarginalWalk(evaluator, *given, 1).has_far_mass();
}

std::optional<LaplaceWalk> laplace_walk(Evaluator& evaluator, const Gaussian& q, Index i,
                                        std::uint64_t seed) {
  if (q.dimension() < 2) return std::nullopt;
  const auto given = Conditional::of(q, i);
  if (!given) return std::nullopt;
  MarginalWalk walk(evaluator, *given, seed);
  Vector v = Vector::Zero(q.dimension() - 1);
  auto centre = walk.at(0, v);
  if (centre && centre->share() < kSureShare) {
    walk.take_more_draws();
    centre = walk.at(0, v);
  }
  if (!centre) return std::nullopt;
  std::vector<MarginalPoint> points{std::move(*centre)};
  if (!walk.walk(1, v, points) || !walk.walk(-1, v, points)) return std::nullopt;
  return summarise_walk(std::move(points), q, i);
}

std::optional<ModePath> conditional_modes(Evaluator& evaluator, const Gaussian& q, Index i,
                                          const std::function<double(ConstVectorRef)>& log_part) {
  if (q.dimension() < 2) return std::nullopt;
  const auto given = Conditional::of(q, i);
  if (!given) return std::nullopt;
  auto path = MarginalWalk(evaluator, *given, 1).modes(log_part);
  if (!path) return std::nullopt;
  std::sort(path->begin(), path->end(), [](const PathMode& a, const PathMode& b) { return a.z < b.z; });
  const auto count = static_cast<Index>(path->size());
  ModePath out{Vector(count), Vector(count), Matrix(q.dimension(), count)};
  for (Index k = 0; k < count; ++k) {
    const PathMode& mode = (*path)[static_cast<std::size_t>(k)];
    out.z(k) = mode.z;
    out.log_density(k) = mode.log_density;
    out.theta.col(k) = mode.theta;
  }
  return out;
}

}  // namespace magva
