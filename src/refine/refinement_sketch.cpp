// The expected curvature's products, where m is too large for a dense one.
#include <cmath>

#include "core/noise.hpp"
#include "refine/low_rank_differential.hpp"
#include "refine/refinement_state.hpp"

namespace magva {

namespace {

/// Antithetic pairs of draws of a sketch.
constexpr Index kSketchPairs = 16;
/// The length of its differences, in posterior sds: the curvature of a step in the log density is seen by few
/// draws, and by all differences as wide as the posterior (E[z g(z)] by its two-point rule, z = +-1).
constexpr double kSecantLength = 1;
/// A sketch is renewed after so many times the gradients that it took; or after a kSketchShare-th of them
/// where the Gaussian has moved by so many nats a parameter.
constexpr std::int64_t kSketchInterval = 4;
constexpr std::int64_t kSketchShare = 4;
constexpr double kSketchNats = .02;

// Noise of an iteration's sketch: far beyond that of its probes.
constexpr std::uint32_t kSketchDraws = 1 << 20;

/// E[-Hessian] by central differences of gradients around draws that are the same for every product.
class SecantCurvature {
 public:
  SecantCurvature(Evaluator& evaluator, Matrix centres)
      : evaluator_(evaluator), centres_(std::move(centres)) {}

  /// Half the differences of the gradients at the centres +- directions, a column for each centre: one
  /// direction for all, or one for each. Zeros where a gradient is not finite.
  Matrix secants(ConstMatrixRef directions) {
    const Index m = centres_.rows();
    const Index count = centres_.cols();
    Matrix theta(m, 2 * count);
    for (Index s = 0; s < count; ++s) {
      const auto direction = directions.col(directions.cols() == 1 ? 0 : s);
      theta.col(2 * s) = centres_.col(s) + direction;
      theta.col(2 * s + 1) = centres_.col(s) - direction;
    }
    Vector log_density(2 * count);
    Matrix gradient(m, 2 * count);
    evaluator_.evaluate(theta, log_density, gradient);
    Matrix out = Matrix::Zero(m, count);
    for (Index s = 0; s < count; ++s)
      if (std::isfinite(log_density(2 * s)) && std::isfinite(log_density(2 * s + 1)))
        out.col(s) = .5 * (gradient.col(2 * s + 1) - gradient.col(2 * s));
    return out;
  }

  /// Two estimates, from the first and from the second half of the centres.
  Matrix times(ConstVectorRef direction) {
    const Matrix all = secants(kSecantLength * direction);
    const Index half = all.cols() / 2;
    Matrix out(all.rows(), 2);
    out << all.leftCols(half).rowwise().mean(), all.rightCols(half).rowwise().mean();
    return out / kSecantLength;
  }

 private:
  Evaluator& evaluator_;
  Matrix centres_;
};

}  // namespace

// Blocks of the differential that are nearly zero count as much as their signal stands out of their noise.
std::pair<CovarianceTangent, CovarianceTangent> Refinement::State::differentials(Index half) {
  const Index second = batch.pairs() - half;
  CovarianceTangent d1 = covariance->differential(batch, {0, half}, curvature.get());
  CovarianceTangent d2 = covariance->differential(batch, {second, half}, curvature.get());
  const auto* sketch = dynamic_cast<const SketchedCurvature*>(curvature.get());
  if (sketch == nullptr || sketch->stale()) return {std::move(d1), std::move(d2)};
  const LowRankCovariance& sigma = *covariance->low_rank();
  const CovarianceTangent blocks1 = block_differential(sigma, batch, {0, half}, *sketch);
  const CovarianceTangent blocks2 = block_differential(sigma, batch, {second, half}, *sketch);
  const CovarianceTangent left1 = combine(1, d1, -1, blocks1);
  const CovarianceTangent left2 = combine(1, d2, -1, blocks2);
  between_window.push_back(
      gain_of(combine(.5, left1, .5, left2), combine(.5, left1, -.5, left2),
              [&](const CovarianceTangent& differential) { return natural_gradient(differential); }));
  const Gain& newest = between_window.back();
  between.signal += kGainWeight * (newest.signal - between.signal);
  between.total += kGainWeight * (newest.total - between.total);
  const double share = between.total > 0 ? std::clamp(between.signal / between.total, 0., 1.) : 0;
  return {combine(1, blocks1, share, left1), combine(1, blocks2, share, left2)};
}

bool Refinement::State::sketch_due() const {
  if (!sketching) return false;
  if (!sketched) return true;
  const std::int64_t since = evaluator.evaluations() - last_sketch;
  if (since >= kSketchInterval * sketch_cost) return true;
  if (iteration % kWindow != 0 || kSketchShare * since < sketch_cost) return false;
  return kl_divergence(covariance->gaussian(mean), *sketched) >
         kSketchNats * static_cast<double>(mean.size());
}

// Lanczos iteration starts from a mixture of secants across the whole posterior: a random direction would
// hardly move any one of the quantities on which the likelihood depends.
void Refinement::State::sketch_curvature() {
  if (!sketch_due()) return;
  const std::int64_t before = evaluator.evaluations();
  PairBatch draws;
  draws.noise.resize(covariance->noise_size(), kSketchPairs);
  Noise(seed, NoiseStream::kEvaluation)
      .fill(static_cast<std::uint64_t>(iteration), kSketchDraws, draws.noise, evaluator.workers());
  covariance->draw(draws);
  Matrix weight(kSketchPairs, 2);
  Noise(seed, NoiseStream::kEvaluation)
      .fill(static_cast<std::uint64_t>(iteration), kSketchDraws + kSketchPairs, weight);
  SecantCurvature at_mean(evaluator, mean.replicate(1, kSketchPairs));
  const Matrix first = at_mean.secants(draws.deviation) * weight;
  Matrix centres(mean.size(), 2 * kSketchPairs);
  for (Index s = 0; s < kSketchPairs; ++s) {
    centres.col(2 * s) = mean + draws.deviation.col(s);
    centres.col(2 * s + 1) = mean - draws.deviation.col(s);
  }
  SecantCurvature expected(evaluator, std::move(centres));
  if (first.colwise().squaredNorm().minCoeff() > 0 && first.allFinite())
    curvature = std::make_unique<SketchedCurvature>(
        *covariance->low_rank(), [&](ConstVectorRef direction) { return expected.times(direction); }, first);
  sketched = covariance->gaussian(mean);
  last_sketch = evaluator.evaluations();
  sketch_cost = last_sketch - before;
}

}  // namespace magva
