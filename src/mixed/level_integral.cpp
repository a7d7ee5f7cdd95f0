#include "mixed/level_integral.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

namespace magva::mixed {

namespace {

constexpr int kMostLevelSteps = 30;
/// A mode is near enough when the next Newton step, which is still taken, is shorter, in sds.
constexpr double kLevelTolerance = .05;
/// The same for a first guess.
constexpr double kGuessTolerance = .3;
/// At which a bound of log densities is looked for.
constexpr Index kPlacesOfBound = 35;

}  // namespace

/// Points of the curves that effects are drawn from, and that outer levels are integrated by: evenly spaced
/// in [-reach, reach] sds around the mode.
struct CurvePoints {
  explicit CurvePoints(Index count, double reach) : z(Vector::LinSpaced(count, -reach, reach)) {
    const Index n = 3 * count;
    Matrix powers = Matrix::Zero(n, n);
    for (Index p = 0; p < count; ++p) {
      const double u = z(p) / reach;
      for (Index k = 0; k < n; ++k) {
        const auto degree = static_cast<double>(k);
        powers(3 * p, k) = std::pow(u, k);
        if (k > 0) powers(3 * p + 1, k) = degree * std::pow(u, k - 1) / reach;
        if (k > 1) powers(3 * p + 2, k) = degree * (degree - 1) * std::pow(u, k - 2) / (reach * reach);
      }
    }
    coefficients = powers.inverse();
  }
  double reach() const { return z(z.size() - 1); }
  Vector z;
  Matrix coefficients;  // of the polynomial in z / reach, from values and derivatives at the points
};

namespace {

/// For logit and Poisson responses curves through three points lose nothing beside five up to a spread of .6,
/// through four up to 1: what is beyond the last point counts for more, 1e-4 in a log integral at most.
const CurvePoints& curve_points(double spread) {
  static constexpr double kReach = 3.4;
  static const CurvePoints three(3, kReach), four(4, kReach), five(5, kReach);
  if (spread <= .6) return three;
  return spread <= 1 ? four : five;
}

}  // namespace

LevelIntegral::LevelIntegral(Shape shape, const HermiteRules& rules)
    : shape_(std::move(shape)),
      rules_(rules),
      last_offset_(Vector::Zero(shape_.groups)),
      mode_(Vector::Zero(shape_.groups)),
      by_offset_(Vector::Zero(shape_.groups)),
      mode_sd_(Vector::Ones(shape_.groups)),
      at_mode_(Vector::Zero(shape_.groups)) {}

// Newton's method for all groups together; a step that has gone too far is halved.
void LevelIntegral::find_modes(const Vector& offset, const ContentOf& content, Wanted wanted, Contents& at) {
  const Index n = shape_.groups;
  const double s = shape_.sd;
  Vector v = mode_ + by_offset_.cwiseProduct(offset - last_offset_);
  Vector next = v, step = Vector::Zero(n), precision = Vector::Ones(n);
  at_mode_.setConstant(-std::numeric_limits<double>::infinity());
  const double tolerance = wanted == Wanted::profile && !shape_.innermost ? kGuessTolerance : kLevelTolerance;
  std::vector<char> searching(static_cast<std::size_t>(n), 1);
  Index left = n;
  for (int k = 0; k < kMostLevelSteps && left > 0; ++k) {
    content(offset + s * next, wanted, at);
    for (Index g = 0; g < n; ++g) {
      if (!searching[static_cast<std::size_t>(g)]) continue;
      const double value = at.value(g) - .5 * next(g) * next(g);
      if (!(value >= at_mode_(g) - 1e-9 * std::abs(at_mode_(g)))) {
        step(g) *= .5;
        next(g) = v(g) + step(g);
        continue;
      }
      at_mode_(g) = value;
      v(g) = next(g);
      precision(g) = 1 - s * s * std::min(0.0, at.curvature(g));
      step(g) = (s * at.slope(g) - v(g)) / precision(g);
      next(g) = v(g) + step(g);
      if (step(g) * step(g) * precision(g) > tolerance * tolerance) continue;
      if (std::isfinite(step(g))) v(g) = next(g);
      searching[static_cast<std::size_t>(g)] = 0;
      --left;
    }
  }
  last_offset_ = offset;
  mode_ = v;
  mode_sd_ = precision.cwiseSqrt().cwiseInverse();
  if (s > 0) by_offset_ = (precision.cwiseInverse().array() - 1) / s;
}

void LevelIntegral::integrate(const Vector& offset, const ContentOf& content, Wanted wanted, Contents& out) {
  const double s = shape_.sd;
  Contents& at = at_;
  find_modes(offset, content, Wanted::profile, at);
  if (wanted == Wanted::profile) {  // the derivatives of a maximum
    out.value = at_mode_;
    out.slope = at.slope;
    out.curvature = at.curvature.cwiseMin(0.0).cwiseProduct(mode_sd_.cwiseAbs2());
    return;
  }
  if (!shape_.innermost && wanted == Wanted::value) {  // contents are integrals: few of them must do
    find_curves(offset, content);
    integrate_curves(out.value);
    return;
  }
  if (!shape_.innermost) find_modes(offset, content, Wanted::curvature, at);
  const HermiteRule& rule = rules_.for_spread(s * mode_sd_.maxCoeff(), shape_.accuracy);
  Vector sums = Vector::Zero(shape_.groups);
  out.slope = out.curvature = Vector::Zero(wanted == Wanted::value ? 0 : shape_.groups);
  for (Index k = 0; k < rule.size(); ++k) {
    const Vector v = mode_ + rule.points(0, k) * mode_sd_;
    content(offset + s * v, wanted, at);
    const Vector share =
        (at.value - .5 * v.cwiseAbs2() - at_mode_).array().exp() * std::exp(rule.log_weights(k));
    if (k == 0 && wanted == Wanted::gradient) {
      out.others = Matrix::Zero(at.others.rows(), shape_.groups);
      out.rows = Vector::Zero(at.rows.size());
    }
    sums += share;
    add_node(at, v, share, wanted, out);
  }
  out.value = at_mode_.array() + (sums.array() * mode_sd_.array()).log();
  if (wanted == Wanted::value) return;
  out.slope.array() /= sums.array();
  if (wanted == Wanted::curvature) {
    out.curvature.array() = out.curvature.array() / sums.array() - out.slope.array().square();
    return;
  }
  out.others.array().rowwise() /= sums.transpose().array();
  for (Index i = 0; i < out.rows.size(); ++i)
    out.rows(i) /= sums(shape_.group_of_row[static_cast<std::size_t>(i)]);
}

void LevelIntegral::add_node(const Contents& at, const Vector& v, const Vector& share, Wanted wanted,
                             Contents& out) const {
  if (wanted == Wanted::value) return;
  out.slope += share.cwiseProduct(at.slope);
  if (wanted == Wanted::curvature) {
    out.curvature.array() += share.array() * (at.curvature.array() + at.slope.array().square());
    return;
  }
  out.others += at.others * share.asDiagonal();
  out.others.row(shape_.number).array() += (share.array() * (v.array().square() - 1)).transpose();
  for (Index i = 0; i < at.rows.size(); ++i)
    out.rows(i) += share(shape_.group_of_row[static_cast<std::size_t>(i)]) * at.rows(i);
}

void LevelIntegral::find_curves(const Vector& offset, const ContentOf& content) {
  const double s = shape_.sd;
  Contents& at = at_;
  const CurvePoints& curve = curve_points(s * mode_sd_.maxCoeff());
  curve_ = &curve;
  points_.resize(3 * curve.z.size(), shape_.groups);
  for (Index p = 0; p < curve.z.size(); ++p) {
    const Vector v = mode_ + curve.z(p) * mode_sd_;
    content(offset + s * v, Wanted::curvature, at);
    points_.row(3 * p) = (at.value - .5 * v.cwiseAbs2() - at_mode_).transpose();
    points_.row(3 * p + 1) = mode_sd_.cwiseProduct(s * at.slope - v).transpose();
    points_.row(3 * p + 2) =
        mode_sd_.cwiseAbs2().cwiseProduct(Vector((s * s * at.curvature).array() - 1)).transpose();
  }
  polynomial_ = curve.coefficients * points_;
}

void LevelIntegral::integrate_curves(Vector& value) const {
  const HermiteRule& rule = rules_.finest();
  value.resize(shape_.groups);
  for (Index g = 0; g < shape_.groups; ++g) {
    double sum = 0;
    for (Index k = 0; k < rule.size(); ++k)
      sum += std::exp(log_density(g, rule.points(0, k)) + rule.log_weights(k));
    value(g) = at_mode_(g) + std::log(sum * mode_sd_(g));
  }
}

void LevelIntegral::prepare_draws(const Vector& offset, const ContentOf& content) {
  find_modes(offset, content, Wanted::profile, at_);
  find_curves(offset, content);
  bound_ = Vector::Zero(shape_.groups);
  const auto look_at = [&](double z) {
    const double proposal = log_proposal(z * z, 1);
    for (Index g = 0; g < shape_.groups; ++g) bound_(g) = std::max(bound_(g), log_density(g, z) - proposal);
  };
  // At an innermost level the mode is exact, and few places do; elsewhere it is that of the profile.
  if (shape_.innermost) {
    for (const double z : kBoundPoints) look_at(z);
  } else {
    for (const double z : Vector::LinSpaced(kPlacesOfBound, -curve_->reach(), curve_->reach()).eval())
      look_at(z);
  }
  bound_.array() += kBoundMargin;
}

double LevelIntegral::log_density(Index g, double z) const {
  const CurvePoints& curve = *curve_;
  if (std::abs(z) >= curve.reach()) {  // a parabola from the last point on
    const Index p = z > 0 ? curve.z.size() - 1 : 0;
    const double beyond = z - curve.z(p);
    return points_(3 * p, g) +
           beyond * (points_(3 * p + 1, g) + .5 * beyond * std::min(0.0, points_(3 * p + 2, g)));
  }
  const double u = z / curve.reach();
  double sum = 0;
  for (Index k = polynomial_.rows() - 1; k >= 0; --k) sum = sum * u + polynomial_(k, g);
  return sum;
}

double LevelIntegral::draw(Index g, ProposalNoise& noise) const {
  double z = 0;
  for (int round = 0; round < kMostRoundsOfDraw; ++round) {
    const Proposal proposal = noise.at(g, round);
    z = proposal.z(0);
    if (log_density(g, z) - bound_(g) - log_proposal(z * z, 1) >= -proposal.slack) break;
  }
  return mode_(g) + z * mode_sd_(g);
}

}  // namespace magva::mixed
