#include "mixture/independent_others.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "mixed/hermite.hpp"

namespace magva {

namespace {

/// Points of the rule, and polynomials that are left out to see how far it may be trusted.
constexpr Index kOthersPoints = 12;
constexpr Index kLeftOut = 3;
/// What these may change in the logarithm of the mass, in nats, or in nats a parameter.
constexpr double kRuleError = .1;
constexpr double kRuleErrorShare = 1e-4;

std::vector<bool> flags_of(const std::vector<Index>& some, Index count) {
  std::vector<bool> out(static_cast<std::size_t>(count), false);
  for (const Index i : some) out[static_cast<std::size_t>(i)] = true;
  return out;
}

/// For each parameter that is no hyper-parameter, how many others of these it is in a term with.
std::vector<Index> neighbours_among_others(const HessianPattern& pattern, const std::vector<Index>& hyper) {
  const std::vector<bool> is_hyper = flags_of(hyper, pattern.dimension());
  std::vector<Index> out(is_hyper.size(), 0);
  const PatternEntries& places = pattern.places();
  for (std::size_t k = 0; k < places.rows.size(); ++k) {
    const auto i = static_cast<std::size_t>(places.rows[k]);
    const auto j = static_cast<std::size_t>(places.columns[k]);
    if (i == j || is_hyper[i] || is_hyper[j]) continue;
    ++out[i];
    ++out[j];
  }
  return out;
}

/// He_0, ..., He_n at points, one row each, divided by the square roots of their factorials.
Matrix normalised_hermite(const Vector& points, Index degree) {
  Matrix out(degree + 1, points.size());
  out.row(0).setOnes();
  if (degree > 0) out.row(1) = points;
  for (Index j = 1; j < degree; ++j)
    out.row(j + 1) =
        (points.transpose().cwiseProduct(out.row(j)) - std::sqrt(static_cast<double>(j)) * out.row(j - 1)) /
        std::sqrt(static_cast<double>(j + 1));
  return out;
}

/// h_j' = sqrt(j) h_{j-1} of normalised Hermite polynomials h.
Matrix integral_of_derivatives(const Vector& points, const Vector& weights, Index degree) {
  const Matrix h = normalised_hermite(points, degree);
  Matrix out = Matrix::Zero(points.size(), points.size());
  for (Index j = 1; j <= degree; ++j)
    out += h.row(j).transpose() * h.row(j - 1).cwiseProduct(weights.transpose()) /
           std::sqrt(static_cast<double>(j));
  return out;
}

}  // namespace

bool independent_given(const HessianPattern& pattern, const std::vector<Index>& hyper_parameters) {
  if (pattern.sums().cols() > 0) return false;
  const std::vector<Index> count = neighbours_among_others(pattern, hyper_parameters);
  return std::all_of(count.begin(), count.end(), [](Index n) { return n == 0; });
}

// The one with most neighbours first.
std::optional<std::vector<Index>> separating_set(const HessianPattern& pattern, std::vector<Index> hyper,
                                                 std::size_t most) {
  if (pattern.sums().cols() > 0) return std::nullopt;
  while (hyper.size() <= most) {
    const std::vector<Index> count = neighbours_among_others(pattern, hyper);
    const auto worst = std::max_element(count.begin(), count.end());
    if (*worst == 0) return hyper;
    hyper.push_back(worst - count.begin());
  }
  return std::nullopt;
}

OthersQuadrature::OthersQuadrature(std::vector<Index> hyper_parameters)
    : hyper_(std::move(hyper_parameters)) {
  const mixed::HermiteRule rule = mixed::hermite_rule(kOthersPoints, 1);
  points_ = rule.points.transpose();
  weights_ = (rule.log_weights.array() - .5 * points_.array().square()).exp();
  integral_ = integral_of_derivatives(points_, weights_, kOthersPoints);
  rougher_integral_ = integral_of_derivatives(points_, weights_, kOthersPoints - kLeftOut);
}

// With x the points and l = log p - log q of one parameter, l' = sd (log p)' + x. By Stein's lemma the
// expected second derivative is E[x (log p)'] / sd.
std::optional<OthersIntegrals> OthersQuadrature::at(Evaluator& evaluator, const Vector& theta,
                                                    Vector sd) const {
  const Index m = theta.size();
  for (const Index i : hyper_) sd(i) = 0;
  const Matrix there = (sd * points_.transpose()).colwise() + theta;
  Vector log_density(there.cols());
  Matrix gradient(m, there.cols());
  evaluator.evaluate(there, log_density, gradient);
  if (!log_density.allFinite() || !gradient.allFinite()) return std::nullopt;
  OthersIntegrals out;
  out.gradient = gradient * weights_;
  out.curvature = -(gradient * weights_.cwiseProduct(points_)).cwiseQuotient(sd);
  Matrix slope = (sd.asDiagonal() * gradient).rowwise() + points_.transpose();
  for (const Index i : hyper_) {
    slope.row(i).setZero();
    out.curvature(i) = 1;
    sd(i) = 1;
  }
  const auto others = static_cast<double>(m) - static_cast<double>(hyper_.size());
  out.elbo =
      weights_.dot(log_density) + sd.array().log().sum() + .5 * others * (std::log(2 * std::numbers::pi) + 1);
  const Matrix log_weight = slope * integral_.transpose();
  const Matrix mass = log_weight.array().exp().matrix() * weights_.asDiagonal();
  const Vector total = mass.rowwise().sum();
  out.missing = total.array().log().sum();
  const Matrix rougher = (slope * rougher_integral_.transpose()).array().exp();
  const double change = (rougher * weights_).array().log().sum() - out.missing;
  if (!(std::abs(change) < std::max(kRuleError, kRuleErrorShare * others))) return std::nullopt;
  out.variance = (log_weight.array().square().matrix() * weights_).sum();
  out.shift = (mass * points_).cwiseQuotient(total);
  out.sd_ratio = ((mass * points_.cwiseAbs2()).cwiseQuotient(total) - out.shift.cwiseAbs2()).cwiseSqrt();
  return out;
}

}  // namespace magva
