#include "exact/newton.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/pair_memory.hpp"
#include "exact/root_ascent.hpp"
#include "search/curvature.hpp"

namespace magva {

namespace {

constexpr int kModeSteps = 100;
constexpr int kFullRankSteps = 500;
/// Newton steps after which, if m is at most kRootDimension, an ascent by gradients goes on; how many
/// iterations that has, in nats how far it goes, and how often both take turns.
constexpr int kPatientSteps = 30;
constexpr Index kRootDimension = 300;
constexpr int kRootIterations = 500;
constexpr double kRootTolerance = .1 * kExactTolerance;
constexpr int kRootTurns = 10;
constexpr double kModeTolerance = 1e-3;  // nats
/// From so many parameters on, and up to so many, beyond which low-rank fits do not settle and a start that
/// is rounded otherwise may lead to another maximum, so many steps with gradients alone may follow one with a
/// Hessian.
constexpr Index kManyParameters = 32;
constexpr Index kTooManyParameters = 300;
constexpr int kGradientSteps = 20;
constexpr double kSmallestShare = 1e-6;
/// Terms of a fit to some of them: so many, so many for each parameter, and one in so many, at least; if that
/// is still one in kWorthThinning or fewer. Six passes over one in sixteen save one over all.
constexpr Index kThinnedTerms = 5000;
constexpr Index kThinnedTermsPerParameter = 50;
constexpr Index kMostThinning = 16;
constexpr Index kWorthThinning = 4;
/// Numbers in the design of a reduced form, and multiplications in a step, at most.
constexpr double kMostReducedNumbers = 16e6;
constexpr double kMostReducedWork = 1e9;
/// Of the prior's variance, that a reduced form can tell from none.
constexpr double kLeastPriorShare = 1e-10;
constexpr int kSettlingSteps = 5;     // the first ones for the mean, the others for its rounding
constexpr double kSufficient = 1e-4;  // share of the predicted gain that a step must bring

/// The curvature, or the nearest that is positive definite.
Matrix positive_definite(const Matrix& curvature, Eigen::LLT<Matrix>& llt) {
  llt.compute(curvature);
  if (llt.info() == Eigen::Success) return curvature;
  Matrix raised = positive_part(curvature);
  llt.compute(raised);
  return raised;
}

/// N(mean, precision^-1) with what has been computed there.
struct NewtonPoint {
  Vector mean;
  Matrix precision;
  Matrix root;
  double log_determinant;
  CurvedElbo at;
};

NewtonPoint evaluate(ExactElbo& elbo, Vector mean, Matrix precision) {
  const Eigen::LLT<Matrix> llt(precision);
  Matrix root = llt.matrixU().solve(Matrix::Identity(precision.rows(), precision.rows()));
  const double log_determinant = -2 * Vector(llt.matrixLLT().diagonal()).array().log().sum();
  CurvedElbo at = elbo.full_rank(mean, root, log_determinant);
  return {std::move(mean), std::move(precision), std::move(root), log_determinant, std::move(at)};
}

/// From a curvature; a Gaussian too wide for a finite ELBO is made narrower.
NewtonPoint first_point(ExactElbo& elbo, ConstVectorRef start, const Matrix& curvature) {
  Eigen::LLT<Matrix> llt;
  Matrix precision = positive_definite(curvature, llt);
  NewtonPoint point = evaluate(elbo, start, precision);
  for (int k = 0; k < 30 && !std::isfinite(point.at.elbo); ++k)
    point = evaluate(elbo, start, precision *= 10);
  return point;
}

/// Nats that a step to mean + step and to the precision `curvature` would gain were E[-Hessian] constant.
double predicted_gain(const NewtonPoint& point, const Matrix& curvature, const Eigen::LLT<Matrix>& llt,
                      const Vector& step) {
  const double trace = (curvature * point.root).cwiseProduct(point.root).sum();
  const double log_ratio = 2 * Vector(llt.matrixLLT().diagonal()).array().log().sum() + point.log_determinant;
  return .5 * step.dot(point.at.gradient) + .5 * (trace - static_cast<double>(step.size()) - log_ratio);
}

/// The log density with some of its terms only, if there are so many that a fit to these saves time: null
/// otherwise. Their number gives the mean to a few of its sds, from where Newton steps converge at once.
std::unique_ptr<const ExpectedLogDensity> thinned(const ExpectedLogDensity& expected) {
  const Index enough = std::max(kThinnedTerms, kThinnedTermsPerParameter * expected.dimension());
  const Index stride = std::min(expected.terms() / enough, kMostThinning);
  return expected.log_concave() && stride >= kWorthThinning ? expected.thinned(stride) : nullptr;
}

/// An observer of passes over some of the terms, which are not counted.
ExactObserver uncounted(const ExactElbo& elbo, const ExactObserver& go_on) {
  return [&](std::int64_t, double) { return go_on(elbo.passes(), std::numeric_limits<double>::quiet_NaN()); };
}

/// Newton's method with Hessians of earlier points: where there are many parameters a pass with the Hessian
/// costs as much as many with the gradient alone. These go on by L-BFGS in the metric of the last Hessian.
class ModeAscent {
 public:
  ModeAscent(ExactElbo& elbo, ConstVectorRef start, const ExactObserver& go_on)
      : elbo_(elbo),
        go_on_(go_on),
        many_(elbo.dimension() >= kManyParameters && elbo.dimension() <= kTooManyParameters),
        theta_(start),
        at_(elbo.point(theta_)) {
    curvature_ = positive_definite(at_.curvature, llt_);
  }

  ModePoint run() {
    for (int k = 0; k < kModeSteps; ++k) {
      const Vector step = llt_.solve(at_.gradient);
      if (.5 * step.dot(at_.gradient) < kModeTolerance) return here(true);
      if (!go_on_(elbo_.passes(), std::numeric_limits<double>::quiet_NaN())) return here(false);
      if (!rise(step)) return here(false);
      if (many_) follow_gradients();
      renew();
    }
    return here(false);
  }

 private:
  ModePoint here(bool converged) const { return {theta_, curvature_, at_.elbo, converged}; }

  /// Along a step, or a part of it; false where nothing is higher.
  bool rise(const Vector& step) {
    const double slope = step.dot(at_.gradient);
    for (double share = 1; share > kSmallestShare; share *= .5) {
      Vector to = theta_ + share * step;
      CurvedElbo next = evaluate(to);
      if (!(next.elbo >= at_.elbo + .5 * kSufficient * share * slope)) continue;
      pairs_.add(to - theta_, at_.gradient - next.gradient);
      theta_ = std::move(to);
      at_ = std::move(next);
      return true;
    }
    return false;
  }

  /// Without the Hessian where that is costly.
  CurvedElbo evaluate(const Vector& theta) {
    if (!many_) return elbo_.point(theta);
    CurvedElbo out{0, Vector(), Matrix()};
    out.elbo = elbo_.point(theta, out.gradient);
    return out;
  }

  void follow_gradients() {
    for (int k = 0; k < kGradientSteps; ++k) {
      const Vector step =
          pairs_.direction(at_.gradient, [&](const Vector& v) -> Vector { return llt_.solve(v); });
      const double gain = .5 * step.dot(at_.gradient);
      if (!(gain > kModeTolerance)) return;
      if (!go_on_(elbo_.passes(), std::numeric_limits<double>::quiet_NaN()) || !rise(step)) return;
    }
  }

  void renew() {
    if (at_.curvature.size() == 0) at_ = elbo_.point(theta_);
    curvature_ = positive_definite(at_.curvature, llt_);
    pairs_.clear();
  }

  ExactElbo& elbo_;
  const ExactObserver& go_on_;
  const bool many_;
  Vector theta_;
  CurvedElbo at_;
  Matrix curvature_;
  Eigen::LLT<Matrix> llt_;
  PairMemory pairs_;
};

ModePoint ascend_to_mode(ExactElbo& elbo, ConstVectorRef start, const ExactObserver& go_on) {
  return ModeAscent(elbo, start, go_on).run();
}

struct NewtonAscent {
  NewtonPoint point;
  ExactStop stop;
};

NewtonAscent ascend_by_newton(ExactElbo& elbo, NewtonPoint point, int most_steps,
                              const ExactObserver& go_on) {
  ExactStop stop;
  double share = 1;
  Eigen::LLT<Matrix> llt;
  while (stop.iterations < most_steps) {
    const Matrix curvature = positive_definite(point.at.curvature, llt);
    const Vector step = llt.solve(point.at.gradient);
    stop.predicted_gain = predicted_gain(point, curvature, llt, step);
    stop.gradient_norm = (point.root.transpose() * point.at.gradient).norm();
    stop.converged = stop.predicted_gain < kExactTolerance;
    stop.interrupted = !go_on(elbo.passes(), point.at.elbo) && !stop.converged;
    if (stop.converged || stop.interrupted) break;
    NewtonPoint next =
        evaluate(elbo, point.mean + share * step, (1 - share) * point.precision + share * curvature);
    if (next.at.elbo >= point.at.elbo + kSufficient * share * stop.predicted_gain) {
      point = std::move(next);
      ++stop.iterations;
      share = std::min(1., 1.5 * share);
    } else {
      share *= .5;
      stop.at_edge = share < kSmallestShare && !std::isfinite(next.at.elbo);
      if (share < kSmallestShare) break;
    }
  }
  return {std::move(point), stop};
}

/// By Newton steps, and where these hardly advance by gradients, too.
NewtonAscent ascend_to_best(ExactElbo& elbo, NewtonPoint start, const ExactObserver& go_on) {
  if (elbo.dimension() > kRootDimension)
    return ascend_by_newton(elbo, std::move(start), kFullRankSteps, go_on);
  NewtonAscent ascent = ascend_by_newton(elbo, std::move(start), kPatientSteps, go_on);
  const auto ended = [&] { return ascent.stop.converged || ascent.stop.interrupted || ascent.stop.at_edge; };
  for (int turn = 0; turn < kRootTurns && !ended(); ++turn) {
    const RootAscent closer = ascend_by_roots(elbo, RootPoint{ascent.point.mean, ascent.point.root},
                                              kRootTolerance, kRootIterations, go_on);
    const int iterations = ascent.stop.iterations + closer.iterations;
    const Matrix inverse = closer.at.root.triangularView<Eigen::Upper>().solve(
        Matrix::Identity(elbo.dimension(), elbo.dimension()));
    ascent = ascend_by_newton(elbo, evaluate(elbo, closer.at.mean, inverse.transpose() * inverse),
                              kPatientSteps, go_on);
    ascent.stop.iterations += iterations;
  }
  return ascent;
}

/// The best Gaussian for some of the terms, where there are many; else the start with its own curvature.
NewtonPoint start_of_ascent(ExactElbo& elbo, ConstVectorRef start, const ExactObserver& go_on) {
  if (const auto some = thinned(elbo.expected())) {
    ExactElbo rough(*some, elbo.workers());
    const NewtonPoint found =
        ascend_to_best(rough, first_point(rough, start, rough.point(start).curvature), uncounted(elbo, go_on))
            .point;
    NewtonPoint point = evaluate(elbo, found.mean, found.precision);
    if (std::isfinite(point.at.elbo)) return point;
  }
  return first_point(elbo, start, elbo.point(start).curvature);
}

FullRankFit fit_from(ExactElbo& elbo, NewtonPoint start, const ExactObserver& go_on) {
  NewtonAscent ascent = ascend_to_best(elbo, std::move(start), go_on);
  NewtonPoint& end = ascent.point;
  return {std::move(end.mean),         std::move(end.root), std::move(end.at.gradient),
          std::move(end.at.curvature), end.at.elbo,         ascent.stop};
}

}  // namespace

ModePoint newton_mode(ExactElbo& elbo, ConstVectorRef start, const ExactObserver& go_on) {
  const auto some = thinned(elbo.expected());
  if (!some) return ascend_to_mode(elbo, start, go_on);
  ExactElbo rough(*some, elbo.workers());
  return ascend_to_mode(elbo, ascend_to_mode(rough, start, uncounted(elbo, go_on)).mean, go_on);
}

FullRankFit fit_full_rank(ExactElbo& elbo, ConstVectorRef start, const ExactObserver& go_on) {
  return fit_from(elbo, start_of_ascent(elbo, start, go_on), go_on);
}

FullRankFit fit_full_rank(ExactElbo& elbo, ConstVectorRef start, ConstMatrixRef precision,
                          const ExactObserver& go_on) {
  return fit_from(elbo, first_point(elbo, start, precision), go_on);
}

std::optional<ReducedDensity> worthwhile_reduction(const ExpectedLogDensity& expected) {
  const auto n = static_cast<double>(expected.terms());
  const auto m = static_cast<double>(expected.dimension());
  if (!(n < m && n * m <= kMostReducedNumbers && 2 * n * n * n <= kMostReducedWork)) return std::nullopt;
  return expected.reduced();
}

Vector reduce(const ReducedDensity& reduced, const Vector& theta) {
  const Vector white = (theta - reduced.centre).cwiseQuotient(reduced.scale);
  return reduced.mixing.partialPivLu().solve(reduced.directions.transpose() * white);
}

std::optional<Gaussian> expand(const ReducedDensity& reduced, const Vector& mean, const Matrix& covariance) {
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(reduced.mixing * covariance * reduced.mixing.transpose());
  if (!(eigen.eigenvalues().minCoeff() > kLeastPriorShare)) return std::nullopt;
  const Vector moved = reduced.directions * (reduced.mixing * mean);
  return Gaussian::spiked(reduced.centre + reduced.scale.cwiseProduct(moved), reduced.scale,
                          reduced.directions * eigen.eigenvectors(), eigen.eigenvalues().array() - 1);
}

Gaussian in_dense_form(const Gaussian& q) {
  const Index m = q.dimension();
  return Gaussian::dense(q.mean(), q.times(Matrix::Identity(m, m)).llt().matrixL());
}

FullRankResult best_full_rank_gaussian(ExactElbo& elbo, ConstVectorRef start, const ExactObserver& go_on) {
  if (const auto reduced = worthwhile_reduction(elbo.expected())) {
    ExactElbo within(*reduced->density, elbo.workers());
    const FullRankFit fit = fit_full_rank(
        within, reduce(*reduced, start),
        [&](std::int64_t passes, double value) { return go_on(elbo.passes() + passes, value); });
    elbo.count(within.passes());
    if (const auto q = expand(*reduced, fit.mean, fit.root * fit.root.transpose()))
      return {in_dense_form(*q), fit.elbo, fit.stop};
  }
  const FullRankFit fit = fit_full_rank(elbo, start, go_on);
  return {Gaussian::dense(fit.mean, Eigen::LLT<Matrix>(fit.root * fit.root.transpose()).matrixL()), fit.elbo,
          fit.stop};
}

void settle_given_last(ExactElbo& elbo, FullRankResult& fit) {
  const Index others = elbo.dimension() - 1;
  Vector mean = fit.posterior.mean();
  Matrix root = Matrix::Zero(others + 1, others + 1);
  root(others, others) = fit.posterior.sd()(others);
  root.topLeftCorner(others, others) =
      Eigen::LLT<Matrix>(fit.posterior.times(Matrix::Identity(others + 1, others)).topRows(others)).matrixL();
  for (int k = 0; k < kSettlingSteps; ++k) {
    const double log_determinant = 2 * root.diagonal().array().log().sum();
    const CurvedElbo at = elbo.full_rank(mean, root, log_determinant);
    if (!std::isfinite(at.elbo)) return;
    fit.posterior = Gaussian::dense(mean, root);
    fit.elbo = at.elbo;
    const Eigen::LLT<Matrix> llt(at.curvature.topLeftCorner(others, others));
    if (llt.info() != Eigen::Success) return;
    mean.head(others) += llt.solve(at.gradient.head(others));
    root.topLeftCorner(others, others) =
        Eigen::LLT<Matrix>(llt.solve(Matrix::Identity(others, others))).matrixL();
  }
}

}  // namespace magva
