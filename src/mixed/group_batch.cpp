#include "mixed/group_batch.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "mixed/rejection.hpp"

namespace magva::mixed {

namespace {

constexpr int kMostNewtonSteps = 30;
/// A mode is near enough when the next Newton step, which is still taken, is shorter, in sds.
constexpr double kModeTolerance = .01;

}  // namespace

GroupBatch::GroupBatch(const FactorRows& rows, const GroupChunk& chunk, const HyperValues& at,
                       const double* eta)
    : rows_(rows), chunk_(chunk), lambda_(at.lambda), own_(at.own), eta_(eta) {
  const GroupTerm& term = rows.problem.data.terms[0];
  if (term.z.cols() > 0)
    for (const Matrix& lambda : lambda_)
      a_.emplace_back(lambda.transpose() * term.z.middleRows(chunk.first_row, chunk.rows).transpose());
  const Index predictors = rows.problem.predictors;
  at_.resize(predictors * chunk.rows);
  by_eta_.resize(at_.size());
  value_.resize(chunk.rows);
  curvature_.resize(predictors * (predictors + 1) / 2 * chunk.rows);
  find_modes();
}

void GroupBatch::set_predictors(const Matrix& v, Index first, Index end) {
  const Index q = rows_.effects_each();
  for (std::size_t c = 0; c < lambda_.size(); ++c) {
    const auto at = static_cast<Index>(c);
    const double* base = eta_ + at * chunk_.rows;
    double* out = at_.data() + at * chunk_.rows;
    for (Index g = first; g < end; ++g) {
      const Index from = row(g), to = from + count(g);
      if (a_.empty()) {
        const double effect = lambda_[c](0, 0) * v(at, g);
        for (Index i = from; i < to; ++i) out[i] = base[i] + effect;
        continue;
      }
      std::copy(base + from, base + to, out + from);
      for (Index k = 0; k < q; ++k) {
        const double effect = v(at * q + k, g);
        const double* a = a_[c].row(k).data();
        for (Index i = from; i < to; ++i) out[i] += effect * a[i];
      }
    }
  }
}

void GroupBatch::differentiate(Index g, const SmallVector& v, SmallVector& gradient,
                               SmallMatrix& precision) const {
  const Index q = rows_.effects_each(), from = row(g), n = count(g), stride = chunk_.rows;
  gradient = -v;
  precision.setIdentity(v.size(), v.size());
  const auto rows_of = [&](Index c) { return a_[static_cast<std::size_t>(c)].middleCols(from, n); };
  for (Index c = 0; c < rows_.problem.predictors; ++c) {
    const auto slopes = by_eta_.segment(c * stride + from, n);
    if (a_.empty())
      gradient(c) += lambda_[static_cast<std::size_t>(c)](0, 0) * slopes.sum();
    else
      for (Index k = 0; k < q; ++k) gradient(c * q + k) += rows_of(c).row(k).dot(slopes);
    for (Index d = 0; d <= c; ++d) {
      const auto w = curvature_.segment(pair_place(c, d) * stride + from, n);
      for (Index k = 0; k < q; ++k)
        for (Index l = 0; l < q; ++l) {
          const Index i = c * q + k, j = d * q + l;
          if (j > i) continue;
          const double sum =
              a_.empty()
                  ? lambda_[static_cast<std::size_t>(c)](0, 0) * lambda_[static_cast<std::size_t>(d)](0, 0) *
                        w.sum()
                  : (rows_of(c).row(k).array() * rows_of(d).row(l).array() * w.transpose().array()).sum();
          precision(i, j) += sum;
          if (i != j) precision(j, i) += sum;
        }
    }
  }
}

// Newton's method for all groups together; a step that has gone too far is halved.
void GroupBatch::find_modes() {
  const Index e = rows_.effects();
  mode_ = Matrix::Zero(e, groups());
  factor_.resize(e * e, groups());
  log_volume_ = Vector::Zero(groups());
  at_mode_ = Vector::Constant(groups(), -std::numeric_limits<double>::infinity());
  Matrix next = mode_, step = mode_;
  std::vector<char> searching(static_cast<std::size_t>(groups()), 1);
  SmallVector gradient(e);
  SmallMatrix precision(e, e);
  Index left = groups();
  for (int k = 0; k < kMostNewtonSteps && left > 0; ++k) {
    set_predictors(next, 0, groups());
    rows_.likelihood.curvatures(all_rows(), value_.data(), by_eta_.data(), curvature_.data());
    for (Index g = 0; g < groups(); ++g) {
      if (!searching[static_cast<std::size_t>(g)]) continue;
      const double value = value_.segment(row(g), count(g)).sum() - .5 * next.col(g).squaredNorm();
      if (!(value >= at_mode_(g) - 1e-12 * std::abs(at_mode_(g)))) {
        step.col(g) *= .5;
        next.col(g) = mode_.col(g) + step.col(g);
        continue;
      }
      at_mode_(g) = value;
      mode_.col(g) = next.col(g);
      differentiate(g, mode_.col(g), gradient, precision);
      const Eigen::LLT<SmallMatrix> llt(precision);
      step.col(g) = llt.solve(gradient);
      const SmallMatrix factor = llt.matrixL().transpose().solve(SmallMatrix::Identity(e, e));
      factor_.col(g) = factor.reshaped();
      log_volume_(g) = factor.diagonal().array().log().sum();
      next.col(g) = mode_.col(g) + step.col(g);
      if (gradient.dot(step.col(g)) > kModeTolerance * kModeTolerance) continue;
      if (step.col(g).allFinite()) mode_.col(g) = next.col(g);
      searching[static_cast<std::size_t>(g)] = 0;
      --left;
    }
  }
}

Matrix GroupBatch::around_modes(const Vector& point) const {
  const Index e = rows_.effects();
  Matrix v = mode_;
  for (Index g = 0; g < groups(); ++g)
    for (Index j = 0; j < e; ++j)
      for (Index i = 0; i <= j; ++i) v(i, g) += factor_(j * e + i, g) * point(j);
  return v;
}

double GroupBatch::spread() const {
  const Index q = rows_.effects_each(), e = rows_.effects();
  double largest = 0;
  for (Index g = 0; g < groups(); ++g) {
    if (count(g) == 0) continue;
    const Eigen::Map<const Matrix> factor(factor_.col(g).data(), e, e);
    for (std::size_t c = 0; c < lambda_.size(); ++c) {
      const Matrix part = factor.middleRows(static_cast<Index>(c) * q, q);
      if (a_.empty())
        largest = std::max(largest, lambda_[c](0, 0) * lambda_[c](0, 0) * part.squaredNorm());
      else
        largest = std::max(
            largest,
            (part.transpose() * a_[c].middleCols(row(g), count(g))).colwise().squaredNorm().maxCoeff());
    }
  }
  return std::sqrt(largest);
}

void GroupBatch::relative_integrands(const Matrix& v, Index first, Index end, VectorRef out) const {
  for (Index g = first; g < end; ++g)
    out(g) = value_.segment(row(g), count(g)).sum() - .5 * v.col(g).squaredNorm() - at_mode_(g);
}

double GroupBatch::log_integral(const HermiteRules& rules) {
  const HermiteRule& rule = rules.for_spread(spread(), Accuracy::value);
  Vector sums = Vector::Zero(groups()), terms(groups());
  for (Index k = 0; k < rule.size(); ++k) {
    const Matrix v = around_modes(rule.points.col(k));
    set_predictors(v, 0, groups());
    rows_.likelihood.values(all_rows(), value_.data());
    relative_integrands(v, 0, groups(), terms);
    sums.array() += (terms.array() + rule.log_weights(k)).exp();
  }
  return total(sums);
}

double GroupBatch::integrate(const HermiteRules& rules, double* slopes, IntegralSums& sums) {
  const HermiteRule& rule = rules.for_spread(spread(), Accuracy::gradient);
  const Index n = chunk_.rows, q = rows_.effects_each(), predictors = rows_.problem.predictors;
  const Index owns = sums.by_own.size();
  Vector share(groups()), weight = Vector::Zero(groups());
  Matrix by_own(n, owns), own_sums = Matrix::Zero(owns, groups());
  Matrix moments = Matrix::Zero(predictors * q * q, groups());
  Eigen::Map<Matrix> by_eta(slopes, n, predictors);
  by_eta.setZero();
  for (Index k = 0; k < rule.size(); ++k) {
    const Matrix v = around_modes(rule.points.col(k));
    set_predictors(v, 0, groups());
    rows_.likelihood.slopes(all_rows(), value_.data(), by_eta_.data(), by_own.data());
    relative_integrands(v, 0, groups(), share);
    share = (share.array() + rule.log_weights(k)).exp();
    weight += share;
    for (Index g = 0; g < groups(); ++g) {
      const Index from = row(g), rows = count(g);
      for (Index c = 0; c < predictors; ++c) {
        by_eta.col(c).segment(from, rows) += share(g) * by_eta_.segment(c * n + from, rows);
        const auto part = v.col(g).segment(c * q, q);
        moments.col(g).segment(c * q * q, q * q) += share(g) * (part * part.transpose()).reshaped();
      }
      if (owns > 0) own_sums.col(g) += share(g) * by_own.middleRows(from, rows).colwise().sum().transpose();
    }
  }
  for (Index g = 0; g < groups(); ++g) {
    for (Index c = 0; c < predictors; ++c) {
      by_eta.col(c).segment(row(g), count(g)) /= weight(g);
      sums.moments[static_cast<std::size_t>(c)] +=
          moments.col(g).segment(c * q * q, q * q).reshaped(q, q) / weight(g) - Matrix::Identity(q, q);
    }
    if (owns > 0) sums.by_own += own_sums.col(g) / weight(g);
  }
  return total(weight);
}

// At some distances along each axis.
void GroupBatch::find_bounds() {
  const Index e = rows_.effects();
  bound_ = Vector::Zero(groups());
  Vector terms(groups());
  for (Index axis = 0; axis < e; ++axis)
    for (const double at : kBoundPoints) {
      const Matrix v = around_modes(at * Vector::Unit(e, axis));
      set_predictors(v, 0, groups());
      rows_.likelihood.values(all_rows(), value_.data());
      relative_integrands(v, 0, groups(), terms);
      bound_ = bound_.cwiseMax(Vector(terms.array() - log_proposal(at * at, e)));
    }
  bound_.array() += kBoundMargin * static_cast<double>(e);
}

void GroupBatch::draw(std::uint64_t seed, std::uint32_t first, const std::vector<EffectColumns>& out) {
  const Index e = rows_.effects(), q = rows_.effects_each();
  find_bounds();
  Matrix v(e, groups());
  Vector terms(groups());
  for (std::size_t s = 0; s < out.size(); ++s) {
    PendingDraws pending(groups(), e);
    ProposalNoise noise({seed, first + static_cast<std::uint32_t>(s), 0}, chunk_.first_group, groups(), e);
    while (pending.next_round()) {
      pending.for_each([&](Index g) {
        const Proposal proposal = noise.at(g, pending.round());
        v.col(g) = mode_.col(g) + factor_.col(g).reshaped(e, e) * proposal.z;
        pending.set(g, proposal);
      });
      pending.for_each_run([&](Index from, Index to) {
        set_predictors(v, from, to);
        const Index begin = row(from);
        const Index rows = row(to - 1) + count(to - 1) - begin;
        rows_.likelihood.values(all_rows().part(begin, rows), value_.data() + begin);
        relative_integrands(v, from, to, terms);
      });
      pending.accept([&](Index g) { return terms(g) - bound_(g); });
    }
    for (Index g = 0; g < groups(); ++g)
      for (std::size_t c = 0; c < lambda_.size(); ++c)
        Eigen::Map<Vector>(out[s][c] + (chunk_.first_group + g) * q, q) =
            lambda_[c] * v.col(g).segment(static_cast<Index>(c) * q, q);
  }
}

}  // namespace magva::mixed
