// The expected curvature's products, for a covariance that cannot keep a dense one.
#include <cmath>

#include "core/noise.hpp"
#include "fit/constants.hpp"
#include "refine/refinement_state.hpp"

namespace magva {

namespace {

// Noise of an iteration's sketch: far beyond that of its probes.
constexpr std::uint32_t kSketchDraws = 1 << 20;

/// E[-Hessian] by central differences of gradients around draws that are the same for every product.
class ExpectedCurvature {
 public:
  ExpectedCurvature(Evaluator& evaluator, Matrix centres)
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
    const Matrix all = secants(constants::kSecantLength * direction);
    const Index half = all.cols() / 2;
    Matrix out(all.rows(), 2);
    out << all.leftCols(half).rowwise().mean(), all.rightCols(half).rowwise().mean();
    return out / constants::kSecantLength;
  }

 private:
  Evaluator& evaluator_;
  Matrix centres_;
};

}  // namespace

// Blocks of the differential that are nearly zero count as much as their signal stands out of their noise.
std::pair<Tangent, Tangent> Refinement::State::differentials(Index half) {
  const Index second = batch.pairs() - half;
  Tangent d1 = covariance->differential(batch, 0, half);
  Tangent d2 = covariance->differential(batch, second, half);
  const auto blocks1 = covariance->block_differential(batch, 0, half);
  const auto blocks2 = covariance->block_differential(batch, second, half);
  if (!blocks1 || !blocks2) return {std::move(d1), std::move(d2)};
  const Tangent left1 = combine(1, d1, -1, *blocks1);
  const Tangent left2 = combine(1, d2, -1, *blocks2);
  between_window.push_back(
      gain_of(combine(.5, left1, .5, left2), combine(.5, left1, -.5, left2),
              [&](const Tangent& differential) { return covariance->natural(differential); }));
  const Gain& newest = between_window.back();
  between.signal += constants::kGainWeight * (newest.signal - between.signal);
  between.total += constants::kGainWeight * (newest.total - between.total);
  const double share = between.total > 0 ? std::clamp(between.signal / between.total, 0., 1.) : 0;
  return {combine(1, *blocks1, share, left1), combine(1, *blocks2, share, left2)};
}

bool Refinement::State::sketch_due() const {
  if (!covariance->sketches()) return false;
  if (!sketched) return true;
  const std::int64_t since = evaluator.evaluations() - last_sketch;
  if (since >= constants::kSketchInterval * sketch_cost) return true;
  if (iteration % constants::kWindow != 0 || constants::kSketchShare * since < sketch_cost) return false;
  return kl_divergence(covariance->gaussian(mean), *sketched) >
         constants::kSketchNats * static_cast<double>(mean.size());
}

// Lanczos iteration starts from a mixture of secants across the whole posterior: a random direction would
// hardly move any one of the quantities on which the likelihood depends.
void Refinement::State::sketch_curvature() {
  if (!sketch_due()) return;
  const std::int64_t before = evaluator.evaluations();
  constexpr Index kPairs = constants::kSketchPairs;
  PairBatch draws;
  draws.noise.resize(covariance->noise_size(), kPairs);
  Noise(seed, NoiseStream::kEvaluation)
      .fill(static_cast<std::uint64_t>(iteration), kSketchDraws, draws.noise, evaluator.workers());
  covariance->draw(draws);
  Matrix weight(kPairs, 2);
  Noise(seed, NoiseStream::kEvaluation)
      .fill(static_cast<std::uint64_t>(iteration), kSketchDraws + kPairs, weight);
  ExpectedCurvature at_mean(evaluator, mean.replicate(1, kPairs));
  const Matrix first = at_mean.secants(draws.deviation) * weight;
  Matrix centres(mean.size(), 2 * kPairs);
  for (Index s = 0; s < kPairs; ++s) {
    centres.col(2 * s) = mean + draws.deviation.col(s);
    centres.col(2 * s + 1) = mean - draws.deviation.col(s);
  }
  ExpectedCurvature expected(evaluator, std::move(centres));
  if (first.colwise().squaredNorm().minCoeff() > 0 && first.allFinite())
    covariance->sketch([&](ConstVectorRef direction) { return expected.times(direction); }, first);
  sketched = covariance->gaussian(mean);
  last_sketch = evaluator.evaluations();
  sketch_cost = last_sketch - before;
}

}  // namespace magva
