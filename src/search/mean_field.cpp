#include "search/mean_field.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "core/noise.hpp"
#include "search/mode_search.hpp"

namespace magva {

namespace {

/// Antithetic pairs of draws: a mean-field Gaussian has too few parameters to fit itself to their noise.
constexpr Index kMeanFieldPairs = 8;
/// Rounds of L-BFGS, each in units of the sds that the one before has found, and iterations of each; a round
/// that gains less, in nats, is the last.
constexpr int kMeanFieldRounds = 4;
constexpr int kRoundIterations = 50;
constexpr double kRoundGain = .5;
/// Sds at the start, the first at which all draws have a finite log density.
constexpr double kWideSds[] = {.5, .2, .05, .01};

/// The ELBO and its gradient by the mean, in units of `unit`, and by log sd, which follow each other in one
/// vector.
class MeanFieldElbo {
 public:
  MeanFieldElbo(Evaluator& evaluator, std::uint64_t seed)
      : evaluator_(evaluator),
        noise_(evaluator.dimension(), kMeanFieldPairs),
        unit_(Vector::Ones(evaluator.dimension())) {
    Noise(seed, NoiseStream::kStarts).fill(3'000'000, 0, noise_);
    // With exact second moments the sds of a Gaussian are exact.
    noise_.array().colwise() /= noise_.array().square().rowwise().mean().sqrt();
  }

  void set_unit(Vector unit) { unit_ = std::move(unit); }

  double operator()(ConstVectorRef at, VectorRef gradient) {
    const Index m = evaluator_.dimension();
    const Vector mean = unit_.cwiseProduct(at.head(m));
    const Vector sd = at.tail(m).array().exp();
    const Matrix deviation = sd.asDiagonal() * noise_;
    Matrix theta(m, 2 * kMeanFieldPairs);
    theta.leftCols(kMeanFieldPairs) = deviation.colwise() + mean;
    theta.rightCols(kMeanFieldPairs) = (-deviation).colwise() + mean;
    Vector log_density(theta.cols());
    Matrix there(m, theta.cols());
    evaluator_.evaluate(theta, log_density, there);
    gradient.setZero();
    if (!log_density.allFinite()) return -std::numeric_limits<double>::infinity();
    gradient.head(m) = unit_.cwiseProduct(there.rowwise().mean());
    const Matrix half_difference = .5 * (there.leftCols(kMeanFieldPairs) - there.rightCols(kMeanFieldPairs));
    gradient.tail(m) = deviation.cwiseProduct(half_difference).rowwise().mean().array() + 1;
    return log_density.mean() + at.tail(m).sum() +
           .5 * static_cast<double>(m) * (std::log(2 * std::numbers::pi) + 1);
  }

 private:
  Evaluator& evaluator_;
  Matrix noise_;
  Vector unit_;
};

}  // namespace

std::optional<MeanField> fit_mean_field(Evaluator& evaluator, ConstVectorRef start, std::uint64_t seed) {
  const Index m = evaluator.dimension();
  MeanFieldElbo elbo(evaluator, seed);
  Vector at(2 * m), gradient(2 * m);
  std::optional<MeanField> found;
  for (const double sd : kWideSds) {
    at << start, Vector::Constant(m, std::log(sd));
    const double value = elbo(at, gradient);
    if (!std::isfinite(value)) continue;
    found = MeanField{start, Vector::Constant(m, sd), value};
    break;
  }
  try {
    for (int k = 0; found && k < kMeanFieldRounds; ++k) {
      elbo.set_unit(found->sd);
      at << found->mean.cwiseQuotient(found->sd), found->sd.array().log().matrix();
      const PathPoint best = maximize(std::ref(elbo), at, {kRoundIterations}).end;
      const double gain = best.log_density - found->elbo;
      found = MeanField{found->sd.cwiseProduct(best.theta.head(m)), best.theta.tail(m).array().exp(),
                        best.log_density};
      if (gain < kRoundGain) break;
    }
  } catch (const Stopped&) {  // the best so far
  }
  return found;
}

}  // namespace magva
