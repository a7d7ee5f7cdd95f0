#include "search/path_gaussians.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "core/noise.hpp"

namespace magva {

namespace {

/// Differences that a covariance remembers.
constexpr std::size_t kSecants = 8;
/// Draws at each point, and points of a way.
constexpr Index kMeanDraws = 8;
constexpr std::size_t kMeansOfPath = 16;
/// A difference is used only if it has seen positive curvature, relative to its lengths.
constexpr double kSecantCurvature = 1e-10;

double elbo_at(Evaluator& evaluator, ConstVectorRef mean, const SecantCovariance& covariance,
               ConstMatrixRef noise) {
  const Index m = mean.size();
  const Matrix theta = covariance.draws(noise.topRows(covariance.noise_size())).colwise() + mean;
  Vector log_density(theta.cols());
  Matrix gradient(m, theta.cols());
  evaluator.evaluate(theta, log_density, gradient);
  if (!log_density.allFinite()) return -std::numeric_limits<double>::infinity();
  return log_density.mean() +
         .5 * (covariance.log_determinant() + static_cast<double>(m) * (std::log(2 * std::numbers::pi) + 1));
}

}  // namespace

SecantCovariance::SecantCovariance(Index m) : diagonal_(Vector::Ones(m)) {}

void SecantCovariance::add(const PathPoint& from, const PathPoint& to) {
  Update update{to.theta - from.theta, from.gradient - to.gradient, 0};
  update.curvature = update.step.dot(update.change);
  if (!(update.curvature > kSecantCurvature * update.step.norm() * update.change.norm())) return;
  update_diagonal(update);
  updates_.push_back(std::move(update));
  if (updates_.size() > kSecants) updates_.erase(updates_.begin());
}

// The diagonal of the BFGS update of a diagonal (Gilbert and Lemarechal 1989).
void SecantCovariance::update_diagonal(const Update& with) {
  const double a = with.change.dot(diagonal_.cwiseProduct(with.change));
  const double c = with.step.dot(with.step.cwiseQuotient(diagonal_));
  const double b = with.curvature;
  const Vector precision = a / b * diagonal_.cwiseInverse() + with.change.cwiseAbs2() / b -
                           Vector((a / (b * c)) * with.step.cwiseQuotient(diagonal_).cwiseAbs2());
  if (precision.minCoeff() > 0 && precision.allFinite()) diagonal_ = precision.cwiseInverse();
}

// |B+| = |B| y's / s'Bs for B+ = B - B s s'B / s'Bs + y y' / y's, the inverse of the covariance.
double SecantCovariance::log_determinant() const {
  double log_precision = -diagonal_.array().log().sum();
  std::vector<Vector> images;  // B s, each with the B before its update
  for (std::size_t k = 0; k < updates_.size(); ++k) {
    const Vector& step = updates_[k].step;
    Vector image = step.cwiseQuotient(diagonal_);
    for (std::size_t i = 0; i < k; ++i) {
      const Update& before = updates_[i];
      image += before.change * (before.change.dot(step) / before.curvature) -
               images[i] * (images[i].dot(step) / images[i].dot(before.step));
    }
    log_precision += std::log(updates_[k].curvature) - std::log(step.dot(image));
    images.push_back(std::move(image));
  }
  return -log_precision;
}

// An update (I - s y'/b) Sigma (I - y s'/b) + s s'/b takes draws of N(0, Sigma) along.
Matrix SecantCovariance::draws(ConstMatrixRef noise) const {
  const Index m = diagonal_.size();
  Matrix out = diagonal_.cwiseSqrt().asDiagonal() * noise.topRows(m);
  for (std::size_t k = 0; k < updates_.size(); ++k) {
    const auto& [step, change, b] = updates_[k];
    const Eigen::RowVectorXd along = change.transpose() * out / b;
    out += step * (noise.row(m + static_cast<Index>(k)) / std::sqrt(b) - along);
  }
  return out;
}

Vector SecantCovariance::times(ConstVectorRef v) const {
  Vector out = v;
  std::vector<double> along(updates_.size());
  for (std::size_t k = updates_.size(); k-- > 0;) {
    along[k] = updates_[k].step.dot(out) / updates_[k].curvature;
    out -= along[k] * updates_[k].change;
  }
  out = out.cwiseProduct(diagonal_).eval();
  for (std::size_t k = 0; k < updates_.size(); ++k)
    out += (along[k] - updates_[k].change.dot(out) / updates_[k].curvature) * updates_[k].step;
  return out;
}

PathElbos best_path_mean(Evaluator& evaluator, const std::vector<PathPoint>& path, std::uint64_t seed) {
  const Index m = evaluator.dimension();
  Matrix noise(m + static_cast<Index>(kSecants), kMeanDraws);
  Noise(seed, NoiseStream::kStarts).fill(2'000'000, 0, noise);
  SecantCovariance covariance(m);
  double elbo = -std::numeric_limits<double>::infinity();
  PathMean best{path.front(), path.front().theta, elbo, Vector::Ones(m)};
  const std::size_t stride = std::max<std::size_t>(1, path.size() / kMeansOfPath);
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (i > 0) covariance.add(path[i - 1], path[i]);
    if ((path.size() - 1 - i) % stride != 0) continue;
    Vector mean = path[i].theta + covariance.times(path[i].gradient);
    elbo = elbo_at(evaluator, mean, covariance, noise);
    if (elbo > best.elbo) best = {path[i], std::move(mean), elbo, covariance.diagonal().cwiseSqrt()};
  }
  return {std::move(best), elbo};
}

}  // namespace magva
