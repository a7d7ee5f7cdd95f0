// One grouping factor: each group's effects u = Lambda v, v ~ N(0, I), are integrated out by adaptive
// Gauss-Hermite quadrature around the mode (Liu & Pierce 1994; Pinheiro & Bates 1995).
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/noise.hpp"
#include "mixed/group_integral.hpp"
#include "mixed/hermite.hpp"
#include "mixed/methods.hpp"

namespace magva::mixed {

namespace {

/// Points along each axis for one, two and three effects.
constexpr Index kPoints[] = {15, 9, 7};
constexpr int kMostNewtonSteps = 30;
/// A mode is near enough when a Newton step is shorter, in sds: the integrals do not depend on where it is
/// exactly.
constexpr double kModeTolerance = 1e-4;
constexpr Index kProposals = 24;
/// Proposals are wider than the Gaussian at the mode by this factor.
constexpr double kWiden = 1.25;

/// One group at one theta.
struct Group {
  ResponseRows rows;
  const double* eta;
  const double* weight;  // null: 1 each
  const double* own;
  Matrix a;  // a column for each row: Lambda' z
};

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
    ends_.assign(static_cast<std::size_t>(group_term().level_count()), 0);
    for (const std::int32_t g : group_term().group) ++ends_[static_cast<std::size_t>(g)];
    std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
    rule_ = hermite_rule(kPoints[effects() - 1], effects());
  }

  const Problem& problem() const override { return *problem_; }
  const std::vector<Index>& ends() const override { return ends_; }
  double evaluations_per_row() const override { return static_cast<double>(rule_.size() + 8); }
  std::string describe() const override {
    return fmt::format(
        "the effects of each group of {} are integrated out by adaptive Gauss-Hermite quadrature with {} "
        "points",
        group_term().name, rule_.size());
  }
  double integrate(const GroupChunk& chunk, const HyperValues& at, const double* eta, double* slopes,
                   IntegralSums& sums) const override {
    double total = 0;
    for (Index g = chunk.first_group; g < chunk.first_group + chunk.groups; ++g) {
      const Index begin = g == 0 ? 0 : ends_[static_cast<std::size_t>(g - 1)], here = begin - chunk.first_row;
      if (begin == ends_[static_cast<std::size_t>(g)])
        continue;  // a level without rows: v is N(0, I), and M is zero
      total += integrate(group_at(g, at, eta + here), slopes + here, sums);
    }
    return total;
  }
  double log_integral(const GroupChunk& chunk, const HyperValues& at, const double* eta) const override {
    double total = 0;
    for (Index g = chunk.first_group; g < chunk.first_group + chunk.groups; ++g) {
      const Index begin = g == 0 ? 0 : ends_[static_cast<std::size_t>(g - 1)];
      if (begin < ends_[static_cast<std::size_t>(g)])
        total += log_integral(group_at(g, at, eta + (begin - chunk.first_row)));
    }
    return total;
  }
  void draw(const GroupChunk& chunk, const HyperValues& at, const double* eta, std::uint64_t seed,
            std::uint32_t first, const std::vector<EffectColumns>& out) const override;

 private:
  const GroupTerm& group_term() const { return problem_->data.terms[0]; }
  Index effects() const { return group_term().effect_count(); }
  Group group_at(Index g, const HyperValues& at, const double* eta) const;
  Vector log_integrands(const Group& group, const Matrix& v) const;
  double integrate(const Group& group, double* slopes, IntegralSums& sums) const;
  double log_integral(const Group& group) const;
  LocalGaussian find_mode(const Group& group) const;

  std::unique_ptr<const Problem> problem_;
  std::vector<Index> ends_;
  HermiteRule rule_;
};

Group OneFactor::group_at(Index g, const HyperValues& at, const double* eta) const {
  const Index begin = g == 0 ? 0 : ends_[static_cast<std::size_t>(g - 1)];
  const Index count = ends_[static_cast<std::size_t>(g)] - begin;
  Group group{problem_->response().from(begin, count),
              eta,
              problem_->data.weights.size() > 0 ? problem_->data.weights.data() + begin : nullptr,
              at.own,
              {}};
  if (group_term().z.cols() == 0)
    group.a = Matrix::Constant(1, count, at.lambda[0](0, 0));
  else
    group.a = at.lambda[0].transpose() * group_term().z.middleRows(begin, count).transpose();
  return group;
}

/// Linear predictors of the group's rows at each column of v.
Matrix predictors(const Group& group, const Matrix& v) {
  const Eigen::Map<const Vector> eta(group.eta, group.rows.rows);
  return (group.a.transpose() * v).colwise() + eta;
}

// log of the integrand at each column of v, up to the normal density's constant.
Vector OneFactor::log_integrands(const Group& group, const Matrix& v) const {
  const Matrix eta = predictors(group, v);
  Vector out = -.5 * v.colwise().squaredNorm();
  for (Index k = 0; k < v.cols(); ++k)
    out(k) += problem_->family->log_likelihood(group.rows, eta.col(k).data(), group.own, group.weight);
  return out;
}

LocalGaussian OneFactor::find_mode(const Group& group) const {
  const Index n = group.rows.rows, q = effects();
  Vector v = Vector::Zero(q), next = v, eta(n), values(n), by_eta(n), by_eta2(n), gradient(q);
  Matrix hessian(q, q);
  double best = -std::numeric_limits<double>::infinity();
  Eigen::LLT<Matrix> llt;
  Vector step = Vector::Zero(q);
  for (int k = 0; k < kMostNewtonSteps; ++k) {
    eta = Eigen::Map<const Vector>(group.eta, n) + group.a.transpose() * next;
    problem_->family->curvatures(group.rows, eta.data(), group.own, values.data(), by_eta.data(),
                                 by_eta2.data());
    if (group.weight) {
      const Eigen::Map<const Vector> weight(group.weight, n);
      values.array() *= weight.array();
      by_eta.array() *= weight.array();
      by_eta2.array() *= weight.array();
    }
    const double value = values.sum() - .5 * next.squaredNorm();
    if (!(value >= best - 1e-12 * std::abs(best))) {  // too far: go back half the way
      step *= .5;
      next = v + step;
      continue;
    }
    best = value;
    v = next;
    gradient = group.a * by_eta - v;
    // Where the density is not log-concave its curvature is left out: the Gaussian stays one.
    hessian = -group.a * by_eta2.cwiseMin(0.0).asDiagonal() * group.a.transpose();
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
  const Index n = group.rows.rows, q = effects();
  const auto owns = static_cast<Index>(problem_->family->own_count());
  const LocalGaussian local = find_mode(group);
  const Matrix v = (local.factor * rule_.points).colwise() + local.mode;
  const Matrix eta = predictors(group, v);
  Matrix by_eta(n, rule_.size()), by_own(n * owns, rule_.size());
  Vector log_terms(rule_.size()), value(n), weight(n);
  for (Index i = 0; i < n; ++i) weight(i) = group.weight ? group.weight[i] : 1.0;
  for (Index k = 0; k < rule_.size(); ++k) {
    problem_->family->slopes(group.rows, eta.col(k).data(), group.own, value.data(), by_eta.col(k).data(),
                             by_own.col(k).data());
    log_terms(k) = rule_.log_weights(k) + value.dot(weight) - .5 * v.col(k).squaredNorm();
  }
  const double largest = log_terms.maxCoeff();
  Vector share = (log_terms.array() - largest).exp();
  const double sum = share.sum();
  share /= sum;
  Eigen::Map<Vector>(slopes, n) = weight.cwiseProduct(by_eta * share);
  for (Index o = 0; o < owns; ++o)
    sums.by_own[static_cast<std::size_t>(o)] += weight.dot(by_own.middleRows(o * n, n) * share);
  sums.moments[0] += v * share.asDiagonal() * v.transpose() - Matrix::Identity(q, q);
  return largest + std::log(sum) + local.log_volume;
}

double OneFactor::log_integral(const Group& group) const {
  const LocalGaussian local = find_mode(group);
  const Matrix v = (local.factor * rule_.points).colwise() + local.mode;
  const Vector log_terms = rule_.log_weights + log_integrands(group, v);
  const double largest = log_terms.maxCoeff();
  return largest + std::log((log_terms.array() - largest).exp().sum()) + local.log_volume;
}

void OneFactor::draw(const GroupChunk& chunk, const HyperValues& at, const double* eta, std::uint64_t seed,
                     std::uint32_t first, const std::vector<EffectColumns>& out) const {
  const Index q = effects();
  Matrix noise(kProposals * q + 1, 1);
  for (Index g = chunk.first_group; g < chunk.first_group + chunk.groups; ++g) {
    const Index begin = g == 0 ? 0 : ends_[static_cast<std::size_t>(g - 1)];
    const bool empty = begin == ends_[static_cast<std::size_t>(g)];
    const Group group = group_at(g, at, eta + (begin - chunk.first_row));
    const LocalGaussian local = empty ? LocalGaussian{} : find_mode(group);
    for (std::size_t s = 0; s < out.size(); ++s) {
      group_noise(seed, first + static_cast<std::uint32_t>(s), g, noise);
      Eigen::Map<Vector> effects_out(out[s][0] + g * q, q);
      if (empty) {
        effects_out = at.lambda[0] * noise.col(0).head(q);
        continue;
      }
      const auto z = noise.col(0).head(kProposals * q).reshaped(q, kProposals);
      const Matrix v = (kWiden * local.factor * z).colwise() + local.mode;
      const Vector log_weights = log_integrands(group, v) + .5 * z.colwise().squaredNorm().transpose();
      effects_out = at.lambda[0] * v.col(pick(log_weights, noise(kProposals * q, 0)));
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
