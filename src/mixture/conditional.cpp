#include "mixture/conditional.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/noise.hpp"

namespace magva {

namespace {

/// Of differences of gradients, in conditional sds.
constexpr double kMixtureStep = 1e-3;
/// Antithetic pairs of draws for expected gradients, and for the expected curvature.
constexpr Index kGradientPairs = 32;
constexpr Index kCurvaturePairs = 4;
/// A mode is found where a Newton step would gain less, in nats; a mean, where it is that of the draws.
constexpr double kConditionalModeGain = 1e-2;
constexpr double kConditionalMeanGain = 1e-2;
/// What a step may still promise where its length ends, in nats, and the variance of log weights, for each
/// parameter: that of an sd of .3 for every square root of one.
constexpr double kMostGainLeft = 1;
/// What another step of independent others may gain, in nats: their mass is exact however good the normals
/// are. The largest steps: of a mean, in sds, and the factor of a precision.
constexpr double kIndependentGain = .05;
constexpr double kLargestMeanStep = 2;
constexpr double kLargestPrecisionStep = 4;
constexpr double kFarVariance = .09;
/// A node misses more than it should where its weights vary by so many times as much as those of the first.
constexpr double kMoreMissing = 1.5;
constexpr int kMostConditionalSteps = 30;
constexpr int kMostConditionalMeans = 3;
/// Lengths of a step that led down, each half of the one before, that are tried at once; a step that gains
/// less than this share of what it promised asks for another precision.
constexpr int kTriedLengths = 5;
constexpr double kKeptPromise = .3;
/// The same at values between those at which it was found, by at most so many steps.
constexpr double kHeightGain = .05;
constexpr int kMostHeightSteps = 20;
/// Added to a curvature that is not positive definite, as shares of its diagonal.
constexpr double kConditionalDampings[] = {0, .01, .1, 1, 10, 100};

}  // namespace

Vector conditional_differences(const Gaussian& q) {
  return kMixtureStep * q.precision_diagonal().cwiseSqrt().cwiseInverse();
}

ConditionalFit::ConditionalFit(Evaluator& evaluator, std::shared_ptr<const HessianPattern> pattern,
                               std::vector<Index> hyper_parameters, Vector length, std::uint64_t seed)
    : evaluator_(evaluator),
      pattern_(std::move(pattern)),
      hyper_(std::move(hyper_parameters)),
      is_hyper_(static_cast<std::size_t>(pattern_->dimension()), false),
      length_(std::move(length)),
      noise_(pattern_->dimension() + pattern_->sums().cols(), kGradientPairs) {
  for (const Index i : hyper_) is_hyper_[static_cast<std::size_t>(i)] = true;
  Noise(seed, NoiseStream::kRandomPoint).fill(1, 0, noise_);
  // Second moments are made exact: the gradient by a scale is a sum of squares of all that it scales.
  noise_.array().colwise() /= noise_.array().square().rowwise().mean().sqrt();
  if (independent_given(*pattern_, hyper_)) quadrature_.emplace(hyper_);
}

void ConditionalFit::clear_hyper(MatrixRef gradients) const {
  for (const Index i : hyper_) gradients.row(i).setZero();
}

Matrix ConditionalFit::sums() const {
  Matrix out = pattern_->sums();
  clear_hyper(out);
  return out;
}

std::optional<Vector> ConditionalFit::curvature_at(const Vector& theta) {
  Vector gradient(theta.size());
  if (!std::isfinite(evaluator_.evaluate(theta, gradient))) return std::nullopt;
  const Vector out = pattern_->curvature(evaluator_, theta, gradient, length_, {1.});
  if (!out.allFinite()) return std::nullopt;
  return out;
}

// Independent of the others by the form of their precision.
Matrix ConditionalFit::moves(const FactoredPrecision& precision, Index pairs) const {
  Matrix out = precision.root_times(noise_.leftCols(pairs));
  clear_hyper(out);
  return out;
}

// The hyper-parameters' rows and columns become those of the identity, so that one structure serves all.
Vector ConditionalFit::of_others(Vector curvature) const {
  const PatternEntries& places = pattern_->places();
  for (std::size_t k = 0; k < places.rows.size(); ++k)
    if (is_hyper(places.rows[k]) || is_hyper(places.columns[k]))
      curvature(static_cast<Index>(k)) = places.rows[k] == places.columns[k] ? 1 : 0;
  return curvature;
}

std::shared_ptr<const FactoredPrecision> ConditionalFit::precision_of(const Vector& curvature) const {
  return FactoredPrecision::make(pattern_->structure(), of_others(curvature), sums());
}

std::shared_ptr<const FactoredPrecision> ConditionalFit::damped_precision_of(Vector curvature) const {
  curvature = of_others(std::move(curvature));
  const Vector diagonal = pattern_->diagonal(curvature).cwiseAbs();
  for (const double share : kConditionalDampings) {
    Vector values = curvature;
    if (share > 0) pattern_->add_to_diagonal(share * diagonal, values);
    if (auto found = FactoredPrecision::make(pattern_->structure(), std::move(values), sums())) return found;
  }
  return nullptr;
}

bool ConditionalFit::climb(Vector& theta, std::shared_ptr<const FactoredPrecision>& precision,
                           const Vector& tilt) {
  Vector gradient(theta.size());
  const auto tilted = [&](const Vector& at, Vector& gradient_there) {
    const double value = evaluator_.evaluate(at, gradient_there) + tilt.dot(at);
    gradient_there += tilt;
    clear_hyper(gradient_there);
    return value;
  };
  double value = tilted(theta, gradient);
  for (int k = 0; k < kMostConditionalSteps; ++k) {
    if (!std::isfinite(value)) return false;
    const Vector step = precision->solve(gradient);
    const double promise = .5 * gradient.dot(step);
    if (promise < kConditionalModeGain) {
      theta += step;
      return true;
    }
    Vector next = theta + step;
    Vector next_gradient(theta.size());
    double next_value = tilted(next, next_gradient);
    if (!(next_value - value > kKeptPromise * promise)) {
      if (!(next_value > value)) {
        next = shorter_step(theta, step, value, tilt);
        next_value = tilted(next, next_gradient);
      }
      const auto curvature = curvature_at(next);
      auto renewed = curvature ? damped_precision_of(*curvature) : nullptr;
      if (!renewed) return false;
      precision = std::move(renewed);
    }
    theta = std::move(next);
    gradient = std::move(next_gradient);
    value = next_value;
  }
  return false;
}

Vector ConditionalFit::shorter_step(const Vector& theta, const Vector& step, double value,
                                    const Vector& tilt) {
  Matrix tried = theta.replicate(1, kTriedLengths);
  for (int j = 0; j < kTriedLengths; ++j) tried.col(j) += std::ldexp(1., -j - 1) * step;
  const Vector values = evaluator_.evaluate_values(tried) + tried.transpose() * tilt;
  Index best = 0;
  return values.maxCoeff(&best) > value ? Vector(tried.col(best)) : theta;
}

std::optional<ConditionalFit::Sample> ConditionalFit::sample(const Vector& theta,
                                                             const FactoredPrecision& precision) {
  const Matrix around = moves(precision, kGradientPairs);
  Matrix draws(theta.size(), 2 * kGradientPairs);
  draws.leftCols(kGradientPairs) = around.colwise() + theta;
  draws.rightCols(kGradientPairs) = (-around).colwise() + theta;
  Vector log_density(draws.cols());
  Matrix gradient(theta.size(), draws.cols());
  evaluator_.evaluate(draws, log_density, gradient);
  if (!log_density.allFinite()) return std::nullopt;
  const auto others = static_cast<double>(theta.size()) - static_cast<double>(hyper_.size());
  const double constant = -.5 * (precision.log_determinant() + others * std::log(2 * std::numbers::pi));
  const Vector squares = around.cwiseProduct(precision.times(around)).colwise().sum();
  Vector log_weights = log_density.array() - constant;
  log_weights.head(kGradientPairs) += .5 * squares;
  log_weights.tail(kGradientPairs) += .5 * squares;
  Sample out{gradient.rowwise().mean(), {}, log_weights.mean(), 0};
  out.hyper_gradient = out.gradient(hyper_);
  out.variance = (log_weights.array() - out.elbo).square().mean();
  clear_hyper(out.gradient);
  return out;
}

bool ConditionalFit::learn_excess(const ConditionalGaussian& around) {
  const Matrix apart = moves(*around.precision, kCurvaturePairs);
  Matrix draws(around.theta.size(), 2 * kCurvaturePairs);
  draws.leftCols(kCurvaturePairs) = apart.colwise() + around.theta;
  draws.rightCols(kCurvaturePairs) = (-apart).colwise() + around.theta;
  Vector log_density(draws.cols());
  Matrix gradient(draws.rows(), draws.cols());
  evaluator_.evaluate(draws, log_density, gradient);
  std::vector<double> sign(static_cast<std::size_t>(draws.cols()), 1.);
  for (Index s = kCurvaturePairs; s < draws.cols(); ++s) sign[static_cast<std::size_t>(s)] = -1;
  const Matrix there = pattern_->curvature(evaluator_, draws, gradient, length_, sign);
  if (!there.allFinite()) return false;
  excess_at_ = pattern_->diagonal(around.curvature);
  const Matrix excess = there.colwise() - around.curvature;
  excess_ = sure_share(excess) * excess.rowwise().mean();
  return true;
}

// Two halves of so few draws agree in what is no noise.
double ConditionalFit::sure_share(const Matrix& excess) const {
  constexpr Index half = kCurvaturePairs / 2;
  const auto pairs = [&](Index first) -> Vector {
    return excess.middleCols(first, half).rowwise().mean() +
           excess.middleCols(kCurvaturePairs + first, half).rowwise().mean();
  };
  const Vector one = pairs(0), two = pairs(half);
  const PatternEntries& places = pattern_->places();
  double agreed = 0, all = 0;
  for (std::size_t k = 0; k < places.rows.size(); ++k) {
    if (is_hyper(places.rows[k]) || is_hyper(places.columns[k])) continue;
    const double unit = excess_at_(places.rows[k]) * excess_at_(places.columns[k]);
    if (!(unit > 0)) continue;
    const auto at = static_cast<Index>(k);
    agreed += one(at) * two(at) / unit;
    all += std::pow(.5 * (one(at) + two(at)), 2) / unit;
  }
  return all > 0 ? std::clamp(agreed / all, 0., 1.) : 0;
}

// It is that of terms whose curvature the hyper-parameters scale, and is scaled as the others' diagonal is.
void ConditionalFit::add_excess(Vector& curvature) const {
  const Vector diagonal = pattern_->diagonal(curvature);
  Vector scale = Vector::Ones(diagonal.size());
  for (Index i = 0; i < scale.size(); ++i)
    if (!is_hyper(i) && diagonal(i) > 0 && excess_at_(i) > 0)
      scale(i) = std::sqrt(diagonal(i) / excess_at_(i));
  const PatternEntries& places = pattern_->places();
  for (Index k = 0; k < curvature.size(); ++k)
    curvature(k) += excess_(k) * scale(places.rows[static_cast<std::size_t>(k)]) *
                    scale(places.columns[static_cast<std::size_t>(k)]);
}

// Mean and precision depend on each other; the precision takes more gradients, and changes less: it is that
// at the tilted density's mode, which is near the mean.
std::optional<ConditionalGaussian> ConditionalFit::settle(Vector theta,
                                                          std::shared_ptr<const FactoredPrecision> precision,
                                                          const Vector& tilt) {
  if (!climb(theta, precision, tilt)) return std::nullopt;
  auto curvature = curvature_at(theta);
  if (!curvature) return std::nullopt;
  if (excess_.size() == 0) return centred(std::move(theta), std::move(*curvature));
  Vector with_excess = *curvature;
  add_excess(with_excess);
  auto out = centred(theta, std::move(with_excess));
  if (out && !(out->missing > kMoreMissing * missing_at_first_)) return out;
  // Where the hyper-parameters scale other terms than those that it is from it may do harm.
  auto without = centred(std::move(theta), std::move(*curvature));
  return without && !(out && out->missing < without->missing) ? without : out;
}

std::optional<ConditionalGaussian> ConditionalFit::centred(Vector theta, Vector curvature) {
  auto precision = precision_of(curvature);
  if (!precision) return std::nullopt;
  std::optional<Sample> around;
  Vector step;
  double gain = 0;
  for (int k = 0; k < kMostConditionalMeans; ++k) {
    around = sample(theta, *precision);
    if (!around) return std::nullopt;
    step = precision->solve(around->gradient);
    gain = .5 * around->gradient.dot(step);
    if (gain < kConditionalMeanGain) break;
    if (k + 1 < kMostConditionalMeans) theta += step;
  }
  // Else no Gaussian is near: what draws that are far out add up to says nothing.
  const bool near = around->variance < kFarVariance * static_cast<double>(theta.size());
  if (!near || !(gain < kMostGainLeft)) return std::nullopt;
  ConditionalGaussian out{theta + step,
                          std::move(curvature),
                          std::move(precision),
                          around->elbo + gain,
                          .5 * around->variance,
                          0,
                          {},
                          {},
                          {},
                          {}};
  out.hyper_gradient = around->hyper_gradient - cross(out.curvature).transpose() * step;
  const Heights at_mean = gradients_of_others(out.theta);
  out.tilt = -at_mean.gradient.col(0);
  out.height = heights(out.theta, at_mean, {&out})(0);
  if (!std::isfinite(out.height)) return std::nullopt;
  return out;
}

// Mean and precision by their fixed point, both at once: each of the others has its own.
std::optional<ConditionalGaussian> ConditionalFit::settle_independent(Vector theta, Vector sd) {
  for (const Index i : hyper_) sd(i) = 1;
  for (int k = 0; k < kMostConditionalSteps; ++k) {
    const auto around = quadrature_->at(evaluator_, theta, sd);
    if (!around) return std::nullopt;
    Vector gradient = around->gradient;
    clear_hyper(gradient);
    const Vector ratio = around->curvature.cwiseProduct(sd.cwiseAbs2())
                             .cwiseMax(1 / kLargestPrecisionStep)
                             .cwiseMin(kLargestPrecisionStep);
    const Vector step = gradient.cwiseProduct(sd.cwiseAbs2()).cwiseQuotient(ratio);
    const double gain = .5 * (gradient.dot(step) + (ratio.array() - 1 - ratio.array().log()).sum());
    if (!(gain < kIndependentGain)) {
      const Vector bound = kLargestMeanStep * sd;
      theta += step.cwiseMin(bound).cwiseMax(-bound);
      sd.array() /= ratio.array().sqrt();
      continue;
    }
    if (!(around->variance < kFarVariance * static_cast<double>(theta.size()))) return std::nullopt;
    auto curvature = curvature_at(theta);
    if (!curvature) return std::nullopt;
    Vector change = sd.cwiseAbs2().cwiseInverse() - pattern_->diagonal(*curvature);
    for (const Index i : hyper_) change(i) = 0;
    pattern_->add_to_diagonal(change, *curvature);
    auto precision = precision_of(*curvature);
    if (!precision) return std::nullopt;
    Vector tilt = -gradients_of_others(theta).gradient.col(0);
    return ConditionalGaussian{std::move(theta),
                               std::move(*curvature),
                               std::move(precision),
                               around->elbo,
                               around->missing,
                               std::numeric_limits<double>::quiet_NaN(),
                               around->gradient(hyper_),
                               std::move(tilt),
                               around->shift,
                               around->sd_ratio};
  }
  return std::nullopt;
}

std::optional<ConditionalGaussian> ConditionalFit::first(Vector theta) {
  excess_.resize(0);
  if (quadrature_) {
    if (auto found = settle_independent(theta, length_ / kMixtureStep)) return found;
    quadrature_.reset();  // some of them are far from a normal distribution
  }
  const auto curvature = curvature_at(theta);
  if (!curvature) return std::nullopt;
  auto precision = damped_precision_of(*curvature);
  if (!precision) return std::nullopt;
  const Vector no_tilt = Vector::Zero(theta.size());
  const auto without = settle(std::move(theta), std::move(precision), no_tilt);
  if (!without || !learn_excess(*without)) return std::nullopt;
  missing_at_first_ = without->missing;
  return settle(without->theta, without->precision, without->tilt);
}

std::optional<ConditionalGaussian> ConditionalFit::at(const Vector& values, const ConditionalGaussian& near) {
  Vector theta = near.theta;
  const Vector before = theta(hyper_);
  theta += slopes(near) * (values - before);
  theta(hyper_) = values;
  if (quadrature_)
    return settle_independent(std::move(theta), near.precision->diagonal().cwiseSqrt().cwiseInverse());
  return settle(std::move(theta), near.precision, near.tilt);
}

Matrix ConditionalFit::cross(const Vector& curvature) const {
  Matrix out = Matrix::Zero(pattern_->dimension(), static_cast<Index>(hyper_.size()));
  std::vector<Index> column(is_hyper_.size(), -1);
  for (std::size_t k = 0; k < hyper_.size(); ++k)
    column[static_cast<std::size_t>(hyper_[k])] = static_cast<Index>(k);
  const PatternEntries& places = pattern_->places();
  for (std::size_t k = 0; k < places.rows.size(); ++k) {
    const Index i = places.rows[k];
    const Index j = places.columns[k];
    if (is_hyper(i) == is_hyper(j)) continue;
    out(is_hyper(i) ? j : i, column[static_cast<std::size_t>(is_hyper(i) ? i : j)]) =
        curvature(static_cast<Index>(k));
  }
  return out;
}

Matrix ConditionalFit::slopes(const ConditionalGaussian& given) const {
  return -given.precision->solve(cross(given.curvature));
}

Vector ConditionalFit::heights(const Matrix& theta, const std::vector<const ConditionalGaussian*>& near) {
  return heights(theta, gradients_of_others(theta), near);
}

Vector ConditionalFit::heights(Matrix theta, Heights here,
                               const std::vector<const ConditionalGaussian*>& near) {
  const std::vector<Index> moved = climb_together(theta, here.gradient, near);
  if (!moved.empty()) {
    const Heights there = gradients_of_others(theta(Eigen::all, moved));
    here.value(moved) = there.value;
    here.gradient(Eigen::all, moved) = there.gradient;
  }
  for (Index s = 0; s < theta.cols(); ++s) {
    const Vector g = here.gradient.col(s);
    const double promise = .5 * g.dot(near[static_cast<std::size_t>(s)]->precision->solve(g).col(0));
    // More than that was not followed to its end: what a neighbour's precision makes of it is no guide.
    here.value(s) += std::min(promise, kHeightGain);
  }
  return here.value;
}

// Conjugate gradients with the neighbours' precisions: these may be a factor off along some directions.
std::vector<Index> ConditionalFit::climb_together(Matrix& theta, Matrix gradient,
                                                  const std::vector<const ConditionalGaussian*>& near) {
  const auto solve = [&](Index s, const Vector& g) -> Vector {
    return near[static_cast<std::size_t>(s)]->precision->solve(g);
  };
  Matrix direction(theta.rows(), theta.cols());
  Vector square(theta.cols());
  std::vector<Index> open;
  for (Index s = 0; s < theta.cols(); ++s) {
    direction.col(s) = solve(s, gradient.col(s));
    square(s) = gradient.col(s).dot(direction.col(s));
    if (.5 * square(s) > kHeightGain) open.push_back(s);
  }
  std::vector<Index> moved = open;
  for (int k = 0; k < kMostHeightSteps && !open.empty(); ++k) {
    const Matrix change =
        gradients_of_others(theta(Eigen::all, open) + direction(Eigen::all, open)).gradient -
        gradient(Eigen::all, open);
    std::vector<Index> next;
    for (std::size_t j = 0; j < open.size(); ++j) {
      const Index s = open[j];
      const double bend = -direction.col(s).dot(change.col(static_cast<Index>(j)));
      if (!(bend > 0)) continue;
      const double length = gradient.col(s).dot(direction.col(s)) / bend;
      theta.col(s) += length * direction.col(s);
      gradient.col(s) += length * change.col(static_cast<Index>(j));
      const Vector image = solve(s, gradient.col(s));
      const double now = gradient.col(s).dot(image);
      direction.col(s) = image + now / square(s) * direction.col(s);
      square(s) = now;
      if (.5 * now > kHeightGain) next.push_back(s);
    }
    open = std::move(next);
  }
  return moved;
}

ConditionalFit::Heights ConditionalFit::gradients_of_others(const Matrix& theta) {
  Heights out{Vector(theta.cols()), Matrix(theta.rows(), theta.cols())};
  evaluator_.evaluate(theta, out.value, out.gradient);
  clear_hyper(out.gradient);
  return out;
}

}  // namespace magva
