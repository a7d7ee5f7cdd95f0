// One grouping factor: each group's effects u = Lambda v, v ~ N(0, I), are integrated out by adaptive
// Gauss-Hermite quadrature around the mode (Liu & Pierce 1994; Pinheiro & Bates 1995).
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/noise.hpp"
#include "mixed/group_integral.hpp"
#include "mixed/group_likelihood.hpp"
#include "mixed/hermite.hpp"
#include "mixed/methods.hpp"

namespace magva::mixed {

namespace {

/// Points along each axis for one, two, three, ... effects.
constexpr Index kPoints[] = {15, 9, 7, 5, 4, 3};
static_assert(std::size(kPoints) == kMostQuadratureEffects);
constexpr int kMostNewtonSteps = 30;
/// A mode is near enough when a Newton step is shorter, in sds: the integrals do not depend on where it is
/// exactly.
constexpr double kModeTolerance = 1e-4;
/// Of a draw: many for groups of few rows, whose effects are far from normal, fewer for groups of more rows.
constexpr Index kProposals = 24;
constexpr Index kFewestOfDraw = 6;
constexpr Index kRowsOfManyProposals = 40;
/// Proposals are wider than the Gaussian at the mode by this factor.
constexpr double kWiden = 1.25;

/// A Gaussian around the mode of the integrand.
struct LocalGaussian {
  Vector mode;
  Matrix factor;          // C with C C' = H^-1
  double log_volume = 0;  // log |C|
};

class OneFactor final : public GroupIntegral {
 public:
  explicit OneFactor(Problem problem) {
    const GroupTerm& term = problem.data.terms[0];
    std::vector<Index> order(term.group.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
      return term.group[static_cast<std::size_t>(a)] < term.group[static_cast<std::size_t>(b)];
    });
    problem_ = std::make_unique<const Problem>(reorder(std::move(problem), order));
    likelihood_ = make_group_likelihood(*problem_);
    ends_.assign(static_cast<std::size_t>(group_term().level_count()), 0);
    for (const std::int32_t g : group_term().group) ++ends_[static_cast<std::size_t>(g)];
    std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
    rule_ = hermite_rule(kPoints[effects() - 1], effects());
  }

  const Problem& problem() const override { return *problem_; }
  const std::vector<Index>& ends() const override { return ends_; }
  double evaluations_per_row() const override {
    return static_cast<double>((rule_.size() + 8) * problem_->predictors);
  }
  std::string describe() const override {
    return fmt::format(
        "the effects of each group of {} are integrated out by adaptive Gauss-Hermite quadrature with {} "
        "points",
        group_term().name, rule_.size());
  }
  double integrate(const GroupChunk& chunk, const HyperValues& at, const double* eta, double* slopes,
                   IntegralSums& sums) const override {
    double total = 0;
    for (Index g = chunk.first_group; g < chunk.first_group + chunk.groups; ++g)
      if (has_rows(g))  // of a level without rows v is N(0, I), and M is zero
        total += integrate(group_at(g, chunk, at, eta), slopes + (begin(g) - chunk.first_row), sums);
    return total;
  }
  double log_integral(const GroupChunk& chunk, const HyperValues& at, const double* eta) const override {
    double total = 0;
    for (Index g = chunk.first_group; g < chunk.first_group + chunk.groups; ++g)
      if (has_rows(g)) total += log_integral(group_at(g, chunk, at, eta));
    return total;
  }
  void draw(const GroupChunk& chunk, const HyperValues& at, const double* eta, std::uint64_t seed,
            std::uint32_t first, const std::vector<EffectColumns>& out) const override;

 private:
  const GroupTerm& group_term() const { return problem_->data.terms[0]; }
  /// Of each linear predictor, and of all.
  Index effects_each() const { return group_term().effect_count(); }
  Index effects() const { return problem_->predictors * effects_each(); }
  Index begin(Index g) const { return g == 0 ? 0 : ends_[static_cast<std::size_t>(g - 1)]; }
  bool has_rows(Index g) const { return begin(g) < ends_[static_cast<std::size_t>(g)]; }
  Group group_at(Index g, const GroupChunk& chunk, const HyperValues& at, const double* eta) const;
  /// log of the integrand at each column of v, up to the normal density's constant.
  Vector log_integrands(const Group& group, const Matrix& v) const {
    return likelihood_->values(group, v) - .5 * v.colwise().squaredNorm().transpose();
  }
  double integrate(const Group& group, double* slopes, IntegralSums& sums) const;
  double log_integral(const Group& group) const;
  LocalGaussian find_mode(const Group& group) const;
  /// Puts the effects Lambda v of a group where they belong.
  void put_effects(Index g, const HyperValues& at, const Vector& v, const EffectColumns& out) const;

  std::unique_ptr<const Problem> problem_;
  std::unique_ptr<const GroupLikelihood> likelihood_;
  std::vector<Index> ends_;
  HermiteRule rule_;
};

Group OneFactor::group_at(Index g, const GroupChunk& chunk, const HyperValues& at, const double* eta) const {
  const Index first = begin(g), count = ends_[static_cast<std::size_t>(g)] - first;
  Group group{first, count, eta + (first - chunk.first_row), chunk.rows, at.own.data(), {}};
  for (const Matrix& lambda : at.lambda) {
    if (group_term().z.cols() == 0)
      group.a.push_back(Matrix::Constant(1, count, lambda(0, 0)));
    else
      group.a.push_back(lambda.transpose() * group_term().z.middleRows(first, count).transpose());
  }
  return group;
}

LocalGaussian OneFactor::find_mode(const Group& group) const {
  const Index q = effects();
  Vector v = Vector::Zero(q), next = v, gradient(q), step = Vector::Zero(q);
  Matrix hessian(q, q);
  double best = -std::numeric_limits<double>::infinity();
  Eigen::LLT<Matrix> llt;
  for (int k = 0; k < kMostNewtonSteps; ++k) {
    const double value = likelihood_->curvature(group, next, gradient, hessian) - .5 * next.squaredNorm();
    if (!(value >= best - 1e-12 * std::abs(best))) {  // too far: go back half the way
      step *= .5;
      next = v + step;
      continue;
    }
    best = value;
    v = next;
    gradient -= v;
    hessian.diagonal().array() += 1;
    llt.compute(hessian);
    step = llt.solve(gradient);
    if (!(gradient.dot(step) > kModeTolerance * kModeTolerance)) break;
    next = v + step;
  }
  const Matrix factor =
      llt.matrixL().transpose().solve(Matrix::Identity(q, q));  // of the last point that was accepted
  return {v, factor, factor.diagonal().array().log().sum()};
}

double OneFactor::integrate(const Group& group, double* slopes, IntegralSums& sums) const {
  const LocalGaussian local = find_mode(group);
  const Matrix v = (local.factor * rule_.points).colwise() + local.mode;
  const GroupSlopes at = likelihood_->slopes(group, v);
  const Vector log_terms = rule_.log_weights + at.value - .5 * v.colwise().squaredNorm().transpose();
  const double largest = log_terms.maxCoeff();
  Vector share = (log_terms.array() - largest).exp();
  const double sum = share.sum();
  share /= sum;
  const Vector by_eta = at.by_eta * share;
  for (Index c = 0; c < problem_->predictors; ++c)
    Eigen::Map<Vector>(slopes + c * group.stride, group.rows) = by_eta.segment(c * group.rows, group.rows);
  sums.by_own += at.by_own * share;
  const Index q = effects_each();
  for (Index c = 0; c < problem_->predictors; ++c) {
    const auto part = v.middleRows(c * q, q);
    sums.moments[static_cast<std::size_t>(c)] +=
        part * share.asDiagonal() * part.transpose() - Matrix::Identity(q, q);
  }
  return largest + std::log(sum) + local.log_volume;
}

double OneFactor::log_integral(const Group& group) const {
  const LocalGaussian local = find_mode(group);
  const Matrix v = (local.factor * rule_.points).colwise() + local.mode;
  const Vector log_terms = rule_.log_weights + log_integrands(group, v);
  const double largest = log_terms.maxCoeff();
  return largest + std::log((log_terms.array() - largest).exp().sum()) + local.log_volume;
}

void OneFactor::put_effects(Index g, const HyperValues& at, const Vector& v, const EffectColumns& out) const {
  const Index q = effects_each();
  for (std::size_t c = 0; c < at.lambda.size(); ++c)
    Eigen::Map<Vector>(out[c] + g * q, q) = at.lambda[c] * v.segment(static_cast<Index>(c) * q, q);
}

void OneFactor::draw(const GroupChunk& chunk, const HyperValues& at, const double* eta, std::uint64_t seed,
                     std::uint32_t first, const std::vector<EffectColumns>& out) const {
  const Index q = effects();
  Matrix noise(kProposals * q + 1, 1);  // the last number is for the choice
  for (Index g = chunk.first_group; g < chunk.first_group + chunk.groups; ++g) {
    const Group group = group_at(g, chunk, at, eta);
    const LocalGaussian local = has_rows(g) ? find_mode(group) : LocalGaussian{};
    const Index proposals = std::clamp(kProposals * kRowsOfManyProposals / std::max<Index>(1, group.rows),
                                       kFewestOfDraw, kProposals);
    for (std::size_t s = 0; s < out.size(); ++s) {
      group_noise(seed, first + static_cast<std::uint32_t>(s), g, noise);
      if (!has_rows(g)) {
        put_effects(g, at, noise.col(0).head(q), out[s]);
        continue;
      }
      const auto z = noise.col(0).head(proposals * q).reshaped(q, proposals);
      const Matrix v = (kWiden * local.factor * z).colwise() + local.mode;
      const Vector log_weights = log_integrands(group, v) + .5 * z.colwise().squaredNorm().transpose();
      put_effects(g, at, v.col(pick(log_weights, noise(kProposals * q, 0))), out[s]);
    }
  }
}

}  // namespace

std::unique_ptr<const GroupIntegral> integrate_one_factor(Problem problem) {
  return std::make_unique<const OneFactor>(std::move(problem));
}

void group_noise(std::uint64_t seed, std::uint32_t draw, Index group, MatrixRef out) {
  Noise(seed, NoiseStream::kPosteriorDraws).fill(kGroupNoise + static_cast<std::uint64_t>(group), draw, out);
}

Index pick(ConstVectorRef log_weights, double normal) {
  const Vector weights = (log_weights.array() - log_weights.maxCoeff()).exp();
  double left = .5 * std::erfc(-normal / std::sqrt(2.0)) * weights.sum();
  for (Index k = 0; k + 1 < weights.size(); ++k) {
    left -= weights(k);
    if (left < 0) return k;
  }
  return weights.size() - 1;
}

}  // namespace magva::mixed
