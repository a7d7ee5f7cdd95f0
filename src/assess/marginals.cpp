#include "assess/marginals.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "assess/laplace_marginal.hpp"
#include "magva/diagnostics.hpp"
#include "sparse/factored_precision.hpp"

namespace magva {

namespace {

/// Coordinates, at most, that are looked at; and beside these, where the precision is sparse, those that meet
/// so many others, or this share of them: all depends on them.
constexpr Index kMostCoordinates = 1024;
constexpr Index kFewestMet = 32;
constexpr double kShareMet = .01;
/// A first look at each: radii in sds, on both sides.
constexpr int kRadii = 5;
constexpr double kRadius[kRadii] = {1.5, 3, 6, 12, 24};
/// Differences from the Gaussian's fall, in nats, at the first two radii that need a second look.
constexpr double kNearDifference[2] = {.1, .5};
/// At the others the density counts if it has fallen by less than this, and 2 more for each doubled radius:
/// then its part of the variance is above a hundredth or so.
constexpr double kFarFall = 10;
/// The second look: points on a line, denser at its middle, out to so many sds.
constexpr Index kLinePoints = 41;
constexpr double kLineEnd = 40;
/// A marginal that is off by less is taken for the Gaussian's.
constexpr double kSmallError = .08;
/// An importance sample for each of the worst.
constexpr std::size_t kMostSamples = 12;
constexpr Index kSampleDraws = 500;
/// Fewer effective draws decide nothing; where so many samples had fewer, others would, too. Up to the second
/// number, by which a mean is known to .06 sds, a larger sample decides.
constexpr double kFewestEffective = 100;
constexpr double kSureEffective = 280;
constexpr Index kLargeSampleDraws = 4000;
constexpr int kMostFailures = 2;
/// A walk with a smaller standard error is sure of a marginal.
constexpr double kSureError = .05;
/// Samples are kept where there are no more parameters.
constexpr Index kMostKept = 100;

/// Gradients, at most, of marginals by Laplace's method, about; of those that lines say nothing about.
constexpr std::int64_t kLaplaceGradients = 6000;
constexpr std::int64_t kOtherLaplaceGradients = 30'000;
/// And of first looks far out.
constexpr std::int64_t kFarMassGradients = 3000;

/// Lines that are looked at together.
constexpr Index kLinesAtOnce = 64;

/// The line of conditional means given theta_i; z in sds of theta_i.
Vector direction_of(const Gaussian& q, Index i) {
  Vector direction = q.covariance_row(i);
  direction /= std::sqrt(direction(i));
  return direction;
}

Vector first_points() {
  Vector z(2 * kRadii);
  for (int k = 0; k < kRadii; ++k) {
    z(k) = kRadius[k];
    z(kRadii + k) = -kRadius[k];
  }
  return z;
}

bool differs(const double* fall) {
  for (int k = 0; k < kRadii; ++k) {
    const double own = .5 * kRadius[k] * kRadius[k];
    const bool near = k < 2;
    if (near && !(std::abs(fall[k] - own) < kNearDifference[k])) return true;
    if (!near && fall[k] < kFarFall + 2 * (k - 2)) return true;
  }
  return false;
}

/// Of the lines, those on which the density does not fall as the Gaussian's does.
std::vector<Index> find_different(Evaluator& evaluator, const Gaussian& q, const Matrix& directions,
                                  double centre) {
  const Matrix fall = centre - evaluator.evaluate_lines(q.mean(), directions, first_points()).array();
  std::vector<Index> out;
  for (Index j = 0; j < fall.cols(); ++j)
    if (differs(fall.col(j).data()) || differs(fall.col(j).data() + kRadii)) out.push_back(j);
  return out;
}

Vector line_points() {
  const Vector even = Vector::LinSpaced(kLinePoints, -std::asinh(kLineEnd), std::asinh(kLineEnd));
  return even.array().sinh();
}

double standard_normal(double z) {
  return std::exp(-.5 * z * z) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

struct SampledMarginal {
  MarginalError error;
  PosteriorSample sample;
};

// Half of the proposal's z are the Gaussian's own and half the line's; all else is as under the Gaussian,
// given z. So the ratio of the proposal to the Gaussian depends on z alone.
std::optional<SampledMarginal> sample_marginal(Evaluator& evaluator, const Gaussian& q, Index i,
                                               const LineDensity& density, Index draws, std::uint64_t seed) {
  Matrix theta = q.draws(draws, seed);
  const Vector direction = direction_of(q, i);
  const double sd = direction(i);
  Vector z = (theta.row(i).transpose().array() - q.mean()(i)) / sd;
  const Index own = draws / 2;
  for (Index s = own; s < draws; ++s) {
    const double u = (static_cast<double>(s - own) + .5) / static_cast<double>(draws - own);
    const double to = density.quantile(u);
    theta.col(s) += (to - z(s)) * direction;
    z(s) = to;
  }
  const Vector log_density = evaluator.evaluate_values(theta);
  Vector log_weights = log_density - q.log_density(theta);
  for (Index s = 0; s < draws; ++s) {
    const double normal = standard_normal(z(s));
    log_weights(s) -=
        normal > 0 ? std::log(.5 + .5 * density(z(s)) / normal)
                   : std::log(.5 * density(z(s))) + .5 * z(s) * z(s) + .5 * std::log(2 * std::numbers::pi);
  }
  if (!log_weights.array().isFinite().any()) return std::nullopt;
  const SmoothedWeights weights = smooth_weights(log_weights);
  if (weights.effective < kFewestEffective) return std::nullopt;
  SampledMarginal out{{}, {std::move(theta), weights.log_weights.array().exp(), draws}};
  const SampleMoments moments = moments_of(z.transpose(), out.sample);
  const double ratio = moments.sd(0);
  out.error = {i, moments.mean(0), ratio, weights.effective,
               std::max(moments.mean_se(0) / std::max(1., ratio), moments.log_sd_se(0))};
  return out;
}

/// By a larger sample where a small one has few effective draws: an error among many that were looked at may
/// be its noise.
std::optional<SampledMarginal> sample_until_sure(Evaluator& evaluator, const Gaussian& q, Index i,
                                                 const LineDensity& density, std::uint64_t seed) {
  auto found = sample_marginal(evaluator, q, i, density, kSampleDraws, seed);
  if (!found || found->error.effective_draws >= kSureEffective) return found;
  return sample_marginal(evaluator, q, i, density, kLargeSampleDraws, seed);
}

struct Suspect {
  LineDensity density;
  MarginalError error;
};

bool is_near(const std::vector<bool>& near, Index i) {
  return !near.empty() && near[static_cast<std::size_t>(i)];
}

std::vector<Index> coordinates_to_check(const Gaussian& q, const std::vector<bool>& near) {
  const Index m = q.dimension();
  const Index stride = (m + kMostCoordinates - 1) / kMostCoordinates;
  std::vector<Index> out;
  for (Index i = 0; i < m; i += stride)
    if (!is_near(near, i)) out.push_back(i);
  if (!q.is_sparse()) return out;
  const Vector met = q.precision()->structure()->entries_of_rows();
  const double many = std::max(static_cast<double>(kFewestMet), kShareMet * static_cast<double>(m));
  for (Index i = 0; i < m; ++i)
    if (met(i) > many && i % stride != 0 && !is_near(near, i)) out.push_back(i);
  return out;
}

std::vector<Suspect> find_suspects(Evaluator& evaluator, const Gaussian& q, const std::vector<bool>& near) {
  const Index m = q.dimension();
  std::vector<Suspect> out;
  const std::vector<Index> coordinates = coordinates_to_check(q, near);
  if (coordinates.empty()) return out;
  Vector gradient(m);
  const double centre = evaluator.evaluate(q.mean(), gradient);
  if (!std::isfinite(centre)) return out;
  const auto lines = static_cast<Index>(coordinates.size());
  const Vector z = line_points();
  for (Index first = 0; first < lines; first += kLinesAtOnce) {
    Matrix directions(m, std::min(kLinesAtOnce, lines - first));
    for (Index j = 0; j < directions.cols(); ++j)
      directions.col(j) = direction_of(q, coordinates[static_cast<std::size_t>(first + j)]);
    const std::vector<Index> different = find_different(evaluator, q, directions, centre);
    if (different.empty()) continue;
    const Matrix on_lines = evaluator.evaluate_lines(q.mean(), directions(Eigen::all, different), z);
    for (std::size_t k = 0; k < different.size(); ++k) {
      LineDensity density(z, on_lines.col(static_cast<Index>(k)));
      const MarginalError error{coordinates[static_cast<std::size_t>(first + different[k])], density.mean(),
                                density.sd(), 0};
      if (error.size() > kSmallError) out.push_back({std::move(density), error});
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Suspect& a, const Suspect& b) { return a.error.size() > b.error.size(); });
  return out;
}

}  // namespace

double MarginalError::size() const {
  return std::max(std::abs(shift) / std::max(1.0, sd_ratio), std::abs(std::log(sd_ratio)));
}

LineDensity::LineDensity(Vector points, const Vector& log_values) : points_(std::move(points)) {
  density_ = (log_values.array() - log_values.maxCoeff()).exp();
  const Index n = points_.size();
  below_ = Vector::Zero(n);
  double first = 0;
  double second = 0;
  for (Index k = 1; k < n; ++k) {
    const double width = points_(k) - points_(k - 1);
    const double a = density_(k - 1);
    const double b = density_(k);
    below_(k) = below_(k - 1) + .5 * width * (a + b);
    first += .5 * width * (a * points_(k - 1) + b * points_(k));
    second += .5 * width * (a * points_(k - 1) * points_(k - 1) + b * points_(k) * points_(k));
  }
  const double mass = below_(n - 1);
  density_ /= mass;
  below_ /= mass;
  mean_ = first / mass;
  sd_ = std::sqrt(second / mass - mean_ * mean_);
}

double LineDensity::operator()(double z) const {
  const Index n = points_.size();
  if (!(z >= points_(0)) || z >= points_(n - 1)) return 0;
  const Index k = std::upper_bound(points_.begin(), points_.end(), z) - points_.begin();
  const double share = (z - points_(k - 1)) / (points_(k) - points_(k - 1));
  return density_(k - 1) + share * (density_(k) - density_(k - 1));
}

double LineDensity::quantile(double u) const {
  const Index n = points_.size();
  const Index k =
      std::clamp<Index>(std::upper_bound(below_.begin(), below_.end(), u) - below_.begin(), 1, n - 1);
  const double width = points_(k) - points_(k - 1);
  const double mass = u - below_(k - 1);
  // Of a + (b - a) t / width, the t up to which it has that mass; in the form that is safe where a = b.
  const double a = density_(k - 1);
  const double slope = (density_(k) - a) / width;
  const double root = std::sqrt(std::max(0.0, a * a + 2 * slope * mass));
  return a + root > 0 ? points_(k - 1) + std::min(width, 2 * mass / (a + root)) : points_(k - 1);
}

namespace {

/// What walks by Laplace's method have found: of each coordinate its own walk's, or else that of the walk
/// with the smallest standard error.
class LaplaceFindings {
 public:
  explicit LaplaceFindings(Index dimension)
      : own_(static_cast<std::size_t>(dimension)), others_(static_cast<std::size_t>(dimension)) {}

  void walk(Evaluator& evaluator, const Gaussian& q, Index i, std::uint64_t seed) {
    auto found = laplace_walk(evaluator, q, i, seed);
    if (!found) return;
    const std::vector<MarginalError>& errors = found->errors;
    own_[static_cast<std::size_t>(i)] = errors[static_cast<std::size_t>(i)];
    for (std::size_t j = 0; j < others_.size(); ++j)
      if (!others_[j] || errors[j].se < others_[j]->se) others_[j] = errors[j];
    samples_.push_back(std::move(found->sample));
  }
  const std::optional<MarginalError>& at(Index i) const {
    const auto& own = own_[static_cast<std::size_t>(i)];
    return own ? own : others_[static_cast<std::size_t>(i)];
  }
  /// Adds to a report, of the coordinates that are not in it, those that differ; and the samples.
  void append_to(MarginalReport& report) &&;

 private:
  std::vector<std::optional<MarginalError>> own_, others_;
  std::vector<PosteriorSample> samples_;
};

bool is_sure(const MarginalError& error) { return error.effective_draws > 0 && error.se < kSureError; }

bool among(const std::vector<MarginalError>& errors, Index coordinate) {
  return std::any_of(errors.begin(), errors.end(),
                     [&](const MarginalError& error) { return error.coordinate == coordinate; });
}

void LaplaceFindings::append_to(MarginalReport& report) && {
  for (Index i = 0; i < static_cast<Index>(own_.size()); ++i)
    if (!among(report.errors, i) && at(i) && at(i)->size() > kSmallError) report.errors.push_back(*at(i));
  std::move(samples_.begin(), samples_.end(), std::back_inserter(report.samples));
}

/// Coordinates to walk along: the worst suspects, and those with mass that no line has shown.
std::vector<Index> coordinates_to_walk(Evaluator& evaluator, const Gaussian& q,
                                       const std::vector<Suspect>& suspects, const std::vector<bool>& near) {
  const Index m = q.dimension();
  const auto most = static_cast<std::size_t>(kLaplaceGradients / laplace_marginal_cost(m));
  std::vector<Index> out;
  for (const Suspect& suspect : suspects) out.push_back(suspect.error.coordinate);
  if (out.size() < most && m * far_mass_cost(m) <= kFarMassGradients)
    for (Index i = 0; i < m; ++i)
      if (!is_near(near, i) && std::find(out.begin(), out.end(), i) == out.end() &&
          has_far_mass(evaluator, q, i))
        out.push_back(i);
  out.resize(std::min(most, out.size()));
  return out;
}

}  // namespace

MarginalReport check_marginals(Evaluator& evaluator, const Gaussian& q, std::uint64_t seed,
                               const std::vector<bool>& near) {
  const std::vector<Suspect> suspects = find_suspects(evaluator, q, near);
  LaplaceFindings laplace(q.dimension());
  for (const Index i : coordinates_to_walk(evaluator, q, suspects, near)) laplace.walk(evaluator, q, i, seed);
  MarginalReport out;
  int failures = 0;
  for (std::size_t k = 0; k < suspects.size(); ++k) {
    const Suspect& suspect = suspects[k];
    std::optional<MarginalError> found = laplace.at(suspect.error.coordinate);
    if (!found && k < kMostSamples && failures < kMostFailures) {
      auto sampled = sample_until_sure(evaluator, q, suspect.error.coordinate, suspect.density, seed + k);
      if (!sampled) ++failures;
      if (sampled) found = sampled->error;
      if (sampled && q.dimension() <= kMostKept) out.samples.push_back(std::move(sampled->sample));
    }
    out.errors.push_back(found.value_or(suspect.error));
  }
  std::move(laplace).append_to(out);
  std::stable_sort(out.errors.begin(), out.errors.end(),
                   [](const MarginalError& a, const MarginalError& b) { return a.size() > b.size(); });
  return out;
}

void check_other_marginals(Evaluator& evaluator, const Gaussian& q, std::uint64_t seed,
                           const std::vector<bool>& near, MarginalReport& report) {
  const Index m = q.dimension();
  if (m * laplace_marginal_cost(m) > kOtherLaplaceGradients) return;
  LaplaceFindings laplace(m);
  for (Index i = 0; i < m; ++i)
    if (!among(report.errors, i) && !is_near(near, i)) laplace.walk(evaluator, q, i, seed);
  report.all_known = std::all_of(report.errors.begin(), report.errors.end(), is_sure);
  for (Index i = 0; i < m; ++i)
    if (!among(report.errors, i) && !is_near(near, i))
      report.all_known = report.all_known && laplace.at(i) && is_sure(*laplace.at(i));
  std::move(laplace).append_to(report);
}

}  // namespace magva
