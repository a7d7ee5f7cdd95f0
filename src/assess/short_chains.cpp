#include "assess/short_chains.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace magva {

namespace {

/// Iterations in which the step is adapted, and others before moments are taken.
constexpr int kAdapting = 12;
constexpr int kSettling = 8;
/// Length of a trajectory, in sds: a quarter of a period of a normal density.
constexpr double kTrajectory = 1.57;
/// A trajectory has so many times the first number of steps at most, and is shorter then.
constexpr int kMostRefined = 4;
/// What is accepted with the last step, and chains that are accepted less often do not move.
constexpr double kAccepted = .8;
constexpr double kLeastAccepted = .4;
/// With fewer the next iterations have steps that are shorter by exp(kShortening x), x what is missing.
constexpr double kFewAccepted = .7;
constexpr double kShortening = 2;
/// Jumps are worth their gradients where so many are accepted; then there is one for every other step.
constexpr double kLeastJumps = .02;
constexpr int kStepsOfJump = 2;
/// Numbers in the draws that are kept, at most.
constexpr Index kKeptNumbers = 1 << 23;

/// Small enough for m normals (Neal 2011, section 4.4).
double first_step(Index dimension) { return std::pow(static_cast<double>(dimension), -.25); }

int steps_for(double step) { return static_cast<int>(std::ceil(kTrajectory / step)); }

Vector energy(const Vector& log_density, const Matrix& velocity, const Matrix& momentum) {
  return .5 * velocity.cwiseProduct(momentum).colwise().sum().transpose() - log_density;
}

/// Sums over the iterations of each chain of powers of what differs from a centre.
class ChainSums {
 public:
  void add(const Matrix& values) {
    if (count_ == 0) {
      centre_ = values.rowwise().mean();
      first_ = second_ = Matrix::Zero(values.rows(), values.cols());
    }
    const Matrix deviation = values.colwise() - centre_;
    first_ += deviation;
    second_ += deviation.cwiseAbs2();
    ++count_;
  }

  /// Chains are independent of each other, so that the scatter of what each adds to an estimate, its
  /// influence function, is the error. With d the deviation from the mean, in sds, that is d for the mean and
  /// (d^2 - 1) / 2 for log sd.
  ChainMoments moments(const Matrix& start) const {
    const auto mean_of_all = [](const Matrix& of_chains) {
      return Eigen::ArrayXd(of_chains.rowwise().mean());
    };
    const Eigen::ArrayXd shift = mean_of_all(first_) / count_;
    const Eigen::ArrayXd sd = (mean_of_all(second_) / count_ - shift.square()).sqrt();
    const Index chains = first_.cols();
    Matrix d(first_.rows(), chains), d2 = d;
    for (Index c = 0; c < chains; ++c) {
      const Eigen::ArrayXd one = first_.col(c).array() / count_;
      const Eigen::ArrayXd two = second_.col(c).array() / count_;
      d.col(c) = (one - shift) / sd;
      d2.col(c) = (two - 2 * shift * one + shift.square()) / sd.square() - 1;
    }
    const double share = 1 / std::sqrt(static_cast<double>(chains * (chains - 1)));
    const auto error = [&](const Matrix& of_chains) {
      return Vector(share * (of_chains.colwise() - of_chains.rowwise().mean()).rowwise().norm());
    };
    return {centre_ + shift.matrix(), sd, error(d).cwiseProduct(sd.matrix()), .5 * error(d2),
            correlations(d, start)};
  }

 private:
  /// Row by row; 0 where nothing varies.
  static Vector correlations(const Matrix& a, const Matrix& b) {
    const Matrix one = a.colwise() - a.rowwise().mean(), two = b.colwise() - b.rowwise().mean();
    const Eigen::ArrayXd size = one.rowwise().norm().cwiseProduct(two.rowwise().norm());
    return (size > 0).select(one.cwiseProduct(two).rowwise().sum().array() / size, 0);
  }

  Vector centre_;
  Matrix first_, second_;
  double count_ = 0;
};

/// Draws of every so many iterations.
class KeptDraws {
 public:
  KeptDraws(Index dimension, Index chains, int iterations)
      : every_(1 + dimension * chains * (iterations - 1) / kKeptNumbers),
        of_chain_((iterations + every_ - 1) / every_),
        draws_(dimension, of_chain_ * chains) {}

  void add(Index iteration, const Matrix& values) {
    if (iteration % every_ != 0) return;
    for (Index c = 0; c < values.cols(); ++c) draws_.col(c * of_chain_ + iteration / every_) = values.col(c);
  }
  Matrix take() { return std::move(draws_); }

 private:
  Index every_, of_chain_;
  Matrix draws_;
};

}  // namespace

ShortChains::ShortChains(Evaluator& evaluator, Gaussian metric, const Posterior& approximation, Matrix start,
                         std::uint64_t seed)
    : evaluator_(evaluator),
      metric_(std::move(metric)),
      approximation_(approximation),
      seed_(seed),
      noise_(seed, NoiseStream::kRandomPoint),
      step_(first_step(start.rows())),
      theta_(std::move(start)),
      gradient_(theta_.rows(), theta_.cols()),
      log_density_(theta_.cols()) {
  evaluator_.evaluate(theta_, log_density_, gradient_);
  std::vector<Index> possible;
  for (Index c = 0; c < theta_.cols(); ++c)
    if (std::isfinite(log_density_(c))) possible.push_back(c);
  theta_ = Matrix(theta_(Eigen::all, possible));
  gradient_ = Matrix(gradient_(Eigen::all, possible));
  log_density_ = Vector(log_density_(possible));
  start_ = theta_;
  proposed_ = static_cast<std::uint32_t>(start_.cols());
}

int ShortChains::steps() const {
  return std::min(steps_for(step_), kMostRefined * steps_for(first_step(theta_.rows())));
}

bool ShortChains::settle() {
  for (int k = 0; k < kAdapting; ++k) step_ *= std::clamp(std::exp(move() - kAccepted), .6, 1.2);
  double accepted = 0;
  double jumped = 0;
  for (int k = 0; k < kSettling; ++k) {
    accepted += move() / kSettling;
    jumped += jump(1) / kSettling;
  }
  jumps_ = jumped < kLeastJumps ? 0 : std::max(1, steps() / kStepsOfJump);
  return accepted >= kLeastAccepted;
}

bool ShortChains::go_on_in(Gaussian metric) {
  metric_ = std::move(metric);
  step_ = first_step(theta_.rows());
  return settle();
}

ShortChains::Draws ShortChains::run(int iterations, const Quantities* quantities) {
  ChainSums of_coordinates, of_quantities;
  KeptDraws kept(theta_.rows(), count(), iterations);
  double accepted = 0;
  for (int k = 0; k < iterations; ++k) {
    accepted += move() / iterations;
    if (jumps_ > 0) jump(jumps_);
    of_coordinates.add(theta_);
    kept.add(k, theta_);
    if (quantities != nullptr) of_quantities.add(quantities->at(theta_));
  }
  if (accepted < kFewAccepted) step_ *= std::exp(kShortening * (accepted - kAccepted));
  return {of_coordinates.moments(start_),
          quantities != nullptr ? of_quantities.moments(quantities->at(start_)) : ChainMoments{}, kept.take(),
          count()};
}

// Leapfrog steps for the velocity Sigma p; the momentum p is kept for the energy. Steps differ from chain to
// chain: where the density is narrower only short ones are accepted.
double ShortChains::move() {
  Matrix noise(metric_.noise_size(), count());
  noise_.fill(iteration_, 0, noise, evaluator_.workers());
  Matrix extra(3, count());
  noise_.fill(iteration_, static_cast<std::uint32_t>(count()), extra, evaluator_.workers());
  ++iteration_;
  const Vector step =
      step_ * extra.row(0).transpose().cwiseAbs().unaryExpr([](double z) { return std::exp2(-z); });
  Matrix velocity = metric_.deviations(noise);
  Matrix momentum = metric_.solve(velocity);
  Matrix theta = theta_, gradient = gradient_;
  Vector log_density = log_density_;
  const auto push = [&](double share) {
    const Matrix change = gradient * (share * step).asDiagonal();
    momentum += change;
    velocity += metric_.times(change);
  };
  const Vector before = energy(log_density, velocity, momentum);
  push(.5);
  const int last = steps();
  for (int k = 1; k <= last; ++k) {
    theta += velocity * step.asDiagonal();
    evaluator_.evaluate(theta, log_density, gradient);
    push(k < last ? 1 : .5);
  }
  const Vector risen = energy(log_density, velocity, momentum) - before;
  double accepted = 0;
  for (Index c = 0; c < count(); ++c) {
    if (!std::isfinite(risen(c))) continue;
    accepted += std::min(1., std::exp(-risen(c)));
    // Half the squares of two normals are exponential, as -log u is.
    if (risen(c) > .5 * extra.col(c).tail(2).squaredNorm()) continue;
    theta_.col(c) = theta.col(c);
    gradient_.col(c) = gradient.col(c);
    log_density_(c) = log_density(c);
  }
  return accepted / static_cast<double>(count());
}

double ShortChains::jump(int times) {
  Vector weight = log_density_ - approximation_.log_density(theta_);
  Matrix gradient(theta_.rows(), count());
  Vector log_density(count());
  double accepted = 0;
  for (int k = 0; k < times; ++k) {
    const Matrix theta = approximation_.draws(count(), seed_, proposed_);
    Matrix extra(2, count());
    noise_.fill(iteration_, 2 * static_cast<std::uint32_t>(count()) + proposed_, extra, evaluator_.workers());
    proposed_ += static_cast<std::uint32_t>(count());
    evaluator_.evaluate(theta, log_density, gradient);
    const Vector there = log_density - approximation_.log_density(theta);
    for (Index c = 0; c < count(); ++c) {
      if (!std::isfinite(there(c))) continue;
      accepted += std::min(1., std::exp(there(c) - weight(c)));
      if (weight(c) - there(c) > .5 * extra.col(c).squaredNorm()) continue;
      theta_.col(c) = theta.col(c);
      gradient_.col(c) = gradient.col(c);
      log_density_(c) = log_density(c);
      weight(c) = there(c);
    }
  }
  return accepted / static_cast<double>(times * count());
}

int settling_iterations() { return kAdapting + kSettling; }

std::int64_t usual_chain_gradients(Index dimension) { return steps_for(first_step(dimension)); }

}  // namespace magva
