// Full rank by Newton steps, in place of a refinement: some thousands of gradients where these take hundreds
// of iterations.
#include <fmt/format.h>

#include <Eigen/Cholesky>

#include "core/elbo.hpp"
#include "fit/default_run.hpp"
#include "fit/runs.hpp"
#include "response/full_rank_fit.hpp"
#include "search/rank_choice.hpp"

namespace magva {

namespace {

/// The largest m for which a step's products of m x m matrices take no time beside its gradients.
constexpr Index kMostNewtonDimension = 500;
/// Iterations of a refinement with Hessians at all draws of its first batch, at least.
constexpr std::int64_t kRefinementIterations = 100;
constexpr std::int64_t kRefinementDraws = 16;
/// Draws by which two starts are compared.
constexpr Index kNewtonStartDraws = 100;

}  // namespace

bool DefaultRun::newton_steps_pay() const {
  const Index m = model_.dimension();
  if (m <= kFullRankDimension || m > kMostNewtonDimension || options_.rank || shape_.choice.rank < m)
    return false;
  if (!shape_.pattern) return true;
  const std::int64_t of_refinement =
      kRefinementIterations * kRefinementDraws * (1 + shape_.pattern->colours());
  return newton_fit_cost(m) < of_refinement;
}

Gaussian DefaultRun::newton_start() {
  Gaussian start = best_->posterior();
  if (!search_.on_path) return start;
  const PathMean& place = search_.on_path->best;
  const Gaussian other = Gaussian::low_rank(place.mean, Matrix(place.mean.size(), 0), place.sd);
  if (different_modes(start, other)) return start;
  const auto elbo = [&](const Gaussian& q) {
    return estimate_elbo(evaluator_, q, kNewtonStartDraws, options_.seed).elbo;
  };
  return elbo(other) > elbo(start) ? other : start;
}

void DefaultRun::try_newton_steps() {
  if (best_->status() != RefinementStatus::kRunning || !newton_steps_pay()) return;
  const Index m = model_.dimension();
  const Gaussian start = newton_start();
  const Matrix covariance = start.times(Matrix::Identity(m, m));
  const Eigen::LLT<Matrix> factor(covariance);
  const double tolerance = promised_nats(m);
  if (factor.info() != Eigen::Success) return;
  const auto found =
      fit_by_newton_steps(evaluator_, {start.mean(), factor.matrixL()}, tolerance, options_.seed + 9);
  if (!found) return;
  const Matrix inverse = found->at.root.triangularView<Eigen::Lower>().solve(Matrix::Identity(m, m));
  best_ = Refinement::converged_at(
      evaluator_, {found->at.mean, make_full_rank(inverse.transpose() * inverse), nullptr}, options_.seed,
      tolerance, found->steps,
      fmt::format(
          "Newton steps with {} pairs of draws would gain {:.3g} nats more, and the noise of these draws "
          "costs {:.3g}; promised is {:.3g}",
          found->pairs, found->left, found->noise_nats, tolerance));
}

}  // namespace magva
