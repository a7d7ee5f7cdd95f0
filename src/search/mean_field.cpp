#include "search/mean_field.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "core/noise.hpp"
#include "search/mode_search.hpp"

namespace magva {

namespace {

/// Antithetic pairs of draws: a mean-field Gaussian has too few parameters to fit itself to their noise.
constexpr Index kMeanFieldPairs = 8;
/// Iterations of L-BFGS; what is still to be gained then does not move the mass.
constexpr int kMeanFieldIterations = 150;
/// Sds at the start, the first at which all draws have a finite log density.
constexpr double kWideSds[] = {.5, .2, .05, .01};

/// The ELBO and its gradient by mean and log sd, which follow each other in one vector.
class MeanFieldElbo {
 public:
  MeanFieldElbo(Evaluator& evaluator, std::uint64_t seed)
      : evaluator_(evaluator), noise_(evaluator.dimension(), kMeanFieldPairs) {
    Noise(seed, NoiseStream::kStarts).fill(3'000'000, 0, noise_);
  }

  double operator()(ConstVectorRef at, VectorRef gradient) {
    const Index m = evaluator_.dimension();
    const Vector sd = at.tail(m).array().exp();
    const Matrix deviation = sd.asDiagonal() * noise_;
    Matrix theta(m, 2 * kMeanFieldPairs);
    theta.leftCols(kMeanFieldPairs) = deviation.colwise() + at.head(m);
    theta.rightCols(kMeanFieldPairs) = (-deviation).colwise() + at.head(m);
    Vector log_density(theta.cols());
    Matrix there(m, theta.cols());
    evaluator_.evaluate(theta, log_density, there);
    gradient.setZero();
    if (!log_density.allFinite()) return -std::numeric_limits<double>::infinity();
    gradient.head(m) = there.rowwise().mean();
    const Matrix half_difference = .5 * (there.leftCols(kMeanFieldPairs) - there.rightCols(kMeanFieldPairs));
    gradient.tail(m) = deviation.cwiseProduct(half_difference).rowwise().mean().array() + 1;
    return log_density.mean() + at.tail(m).sum() +
           .5 * static_cast<double>(m) * (std::log(2 * std::numbers::pi) + 1);
  }

 private:
  Evaluator& evaluator_;
  Matrix noise_;
};

}  // namespace

std::optional<MeanField> fit_mean_field(Evaluator& evaluator, ConstVectorRef start, std::uint64_t seed) {
  const Index m = evaluator.dimension();
  MeanFieldElbo elbo(evaluator, seed);
  Vector at(2 * m), gradient(2 * m);
  for (const double sd : kWideSds) {
    at << start, Vector::Constant(m, std::log(sd));
    if (!std::isfinite(elbo(at, gradient))) continue;
    const PathPoint best = maximize(std::ref(elbo), at, kMeanFieldIterations).end;
    return MeanField{best.theta.head(m), best.theta.tail(m).array().exp(), best.log_density};
  }
  return std::nullopt;
}

}  // namespace magva
