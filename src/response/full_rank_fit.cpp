#include "response/full_rank_fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <limits>

#include "response/full_rank_steps.hpp"

namespace magva {

namespace {

/// Steps, at most, and how many a fit takes as a rule.
constexpr int kMostSecantSteps = 20;
constexpr int kUsualSecantSteps = 8;
/// Shares of the tolerance: what steps would still gain, and what the noise of the draws costs.
constexpr double kLeftShare = .1;
constexpr double kNoiseShare = .2;
/// Steps in a row after which so little must be left: the first may see the end of fast directions alone,
/// and along a valley that bends, as that of a scale and of the effects that it scales, all steps gain a
/// little.
constexpr int kCalmSteps = 2;
/// Steps in a row, each of which leaves more than so much of the gain of the one before, that lead along such
/// a valley, where they gain less than the tolerance.
constexpr int kSlowSteps = 2;
constexpr double kSlowRatio = .7;
/// Draws grow to so many times those of the first steps, at most, and by some more than they seem to need.
constexpr Index kMostDrawGrowth = 8;
constexpr double kSpareGrowth = 1.5;
/// Largest share of the precision that a step may take away, in any direction, and that a secant may leave
/// none of.
constexpr double kMostLoss = .7;
constexpr double kLeastKept = .1;
/// Largest squared length / 2 of a step of the mean, in nats, and nats a parameter.
constexpr double kMostMeanNats = .5;
constexpr double kMostMeanShare = .1;
/// Range of the secant's weight: 0 is no secant, 1 goes back to where the last step began.
constexpr double kLeastSecant = -4;
constexpr double kMostSecant = .9;

Matrix symmetrised(const Matrix& a) { return .5 * (a + a.transpose()); }

/// A mean and a precision, or a change of both.
struct Natural {
  Vector mean;
  Matrix precision;
};
Natural operator-(const Natural& a, const Natural& b) { return {a.mean - b.mean, a.precision - b.precision}; }
Natural operator+(const Natural& a, const Natural& b) { return {a.mean + b.mean, a.precision + b.precision}; }
Natural operator*(double t, const Natural& a) { return {t * a.mean, t * a.precision}; }
/// In the Fisher metric of a Gaussian in whose coordinates both are, so that it is N(0, I).
double product(const Natural& a, const Natural& b) {
  return a.mean.dot(b.mean) + .5 * a.precision.cwiseProduct(b.precision).sum();
}

class SecantAscent {
 public:
  explicit SecantAscent(RootedGaussian from) : at_(std::move(from)) {}

  const RootedGaussian& at() const { return at_; }
  /// The next step is with other draws.
  void forget() { before_.reset(); }

  /// False where it leads to no covariance.
  bool step(const GradientSample& sample) {
    const double share = largest_share(sample.excess);
    const Natural change = newton_step(sample, share);
    Natural next = change;
    if (before_) next = with_secant(change);
    const Matrix excess = -symmetrised(next.precision);
    auto root = root_given(at_.root, excess);
    if (!root) return false;
    before_.reset();
    if (share == 1) before_ = Before{at_, change};
    at_.mean += at_.root * next.mean;
    at_.root = std::move(*root);
    return true;
  }

 private:
  struct Before {
    RootedGaussian at;
    Natural change;  ///< in its own coordinates
  };

  static double largest_share(const Matrix& excess) {
    const double largest = excess.selfadjointView<Eigen::Lower>().eigenvalues().maxCoeff();
    return largest > kMostLoss ? kMostLoss / largest : 1;
  }

  /// The mean moves by the new covariance times the gradient.
  static Natural newton_step(const GradientSample& sample, double share) {
    const auto m = static_cast<double>(sample.dimension());
    Matrix precision = -share * sample.excess;
    precision.diagonal().array() += 1;
    Vector move = Eigen::LLT<Matrix>(precision).solve(sample.gradient);
    const double most = 2 * std::max(kMostMeanNats, kMostMeanShare * m);
    if (move.squaredNorm() > most) move *= std::sqrt(most / move.squaredNorm());
    return {std::move(move), -share * sample.excess};
  }

  /// Combines this step and the one before it so that, were both those of a linear map, what is left along
  /// their difference would vanish.
  Natural with_secant(const Natural& change) const {
    const auto root = at_.root.triangularView<Eigen::Lower>();
    // From the coordinates of the Gaussian before to those of this one.
    const Matrix turn = before_->at.root.triangularView<Eigen::Lower>().solve(at_.root);
    const auto here = [&](const Natural& there) {
      return Natural{root.solve(before_->at.root * there.mean), turn.transpose() * there.precision * turn};
    };
    const Index m = at_.mean.size();
    const Natural way{root.solve(at_.mean - before_->at.mean),
                      Matrix::Identity(m, m) - turn.transpose() * turn};
    const Natural difference = change - here(before_->change);
    const double length = product(difference, difference);
    if (!(length > 0)) return change;
    const double weight = std::clamp(product(change, difference) / length, kLeastSecant, kMostSecant);
    const Natural combined = change - weight * (way + difference);
    Matrix kept = combined.precision;
    kept.diagonal().array() += 1 - kLeastKept;
    return Eigen::LLT<Matrix>(symmetrised(kept)).info() == Eigen::Success ? combined : change;
  }

  RootedGaussian at_;
  std::optional<Before> before_;
};

/// If gains go on falling as they did.
double left_after(double last, double gain) {
  return gain < last ? gain / (1 - gain / last) : std::numeric_limits<double>::infinity();
}

std::uint64_t draws_seed(std::uint64_t seed, int set) {
  return seed + (static_cast<std::uint64_t>(set) << 40U);
}

}  // namespace

std::int64_t newton_fit_cost(Index dimension) { return 2 * kUsualSecantSteps * step_pairs(dimension); }

std::optional<NewtonFit> fit_by_newton_steps(Evaluator& evaluator, RootedGaussian from, double tolerance,
                                             std::uint64_t seed) {
  Index pairs = step_pairs(from.mean.size());
  const auto most = static_cast<double>(kMostDrawGrowth * pairs);
  SecantAscent ascent(std::move(from));
  double last = std::numeric_limits<double>::quiet_NaN();
  int set = 0, calm = 0, slow = 0;
  for (int k = 0; k < kMostSecantSteps; ++k) {
    const auto sample = sample_gradients(evaluator, ascent.at(), pairs, draws_seed(seed, set));
    if (!sample) return std::nullopt;
    const double gain = sample->gain();
    const double noise = sample->noise_nats();
    const double left = left_after(last, gain);
    const double needed = static_cast<double>(pairs) * noise / (kNoiseShare * tolerance);
    // What the first set of draws has shown is known of the others.
    calm = left < kLeftShare * tolerance ? calm + 1 : set > 0 ? kCalmSteps - 1 : 0;
    slow = gain < tolerance && gain > kSlowRatio * last ? slow + 1 : 0;
    if (!std::isfinite(gain) || slow == kSlowSteps || (gain < noise && needed > most)) return std::nullopt;
    last = gain;
    if (calm >= kCalmSteps) {
      if (needed <= static_cast<double>(pairs)) return NewtonFit{ascent.at(), k, pairs, left, noise};
      pairs = static_cast<Index>(std::min(most, std::ceil(kSpareGrowth * needed)));
      calm = kCalmSteps - 1;
      last = std::numeric_limits<double>::quiet_NaN();
      ++set;
    }
    if (!ascent.step(*sample)) return std::nullopt;
    if (std::isnan(last)) ascent.forget();
  }
  return std::nullopt;
}

}  // namespace magva
