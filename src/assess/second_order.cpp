#include "assess/second_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "assess/doubts.hpp"
#include "core/noise.hpp"

namespace magva {

namespace {

constexpr Index kShiftDraws = 512;
/// Draws that are held at a time.
constexpr Index kShiftBlock = 32;

}  // namespace

// With l = log p - log q less its mean, E_p[theta] - E_q[theta] = E[d l] + E[d l^2] / 2 + ..., d the
// deviation from the mean. By Stein's lemma that is Sigma E[(1 + l) grad l], whose noise is that of one
// derivative, not that of all of l^2.
std::optional<MeanShift> second_order_shift(Evaluator& evaluator, const Gaussian& q, double elbo,
                                            std::uint64_t seed) {
  const Index m = q.dimension();
  const Noise noise(seed, NoiseStream::kEvaluation);
  Vector sum = Vector::Zero(m), squares = Vector::Zero(m);
  for (Index first = 0; first < kShiftDraws; first += kShiftBlock) {
    Matrix z(q.noise_size(), kShiftBlock);
    noise.fill(0, static_cast<std::uint32_t>(first), z, evaluator.workers());
    const Matrix deviation = q.deviations(z);
    const Matrix theta = deviation.colwise() + q.mean();
    Vector log_density(kShiftBlock);
    Matrix gradient(m, kShiftBlock);
    evaluator.evaluate(theta, log_density, gradient);
    if (!log_density.allFinite()) return std::nullopt;
    const Vector l = (log_density - q.log_density(theta)).array() - elbo;
    gradient += q.solve(deviation);
    const Matrix moved = q.times(gradient * (1 + l.array()).matrix().asDiagonal());
    sum += moved.rowwise().sum();
    squares += moved.rowwise().squaredNorm();
  }
  const auto n = static_cast<double>(kShiftDraws);
  const Vector mean = sum / n;
  const Vector variance = (squares / n - mean.cwiseAbs2()).cwiseMax(0) / (n - 1);
  const Vector sd = q.sd();
  return MeanShift{mean.cwiseQuotient(sd), variance.cwiseSqrt().cwiseQuotient(sd)};
}

void assess_second_order(Evaluator& evaluator, const Gaussian& reported, std::uint64_t seed,
                         Assessment& out) {
  if (!reported.is_sparse() || !std::isfinite(out.elbo)) return;
  const auto found = second_order_shift(evaluator, reported, out.elbo, seed);
  if (!found) return;
  // The largest of m normals is about sqrt(2 log m).
  const double errors = std::sqrt(2 * std::log(static_cast<double>(reported.dimension())));
  Index worst = 0;
  const double size = (found->shift.cwiseAbs() - errors * found->se).maxCoeff(&worst);
  if (!(size > kDoubt)) return;
  const Doubt doubt{evaluator.model().parameter_name(worst), found->shift(worst), 1};
  if (!add_doubt(doubt, out)) return;
  out.warn(WarningKind::kReweighted,
           fmt::format("the mean of {} is about {:.2g} sds from the approximation's, by cumulants of the log "
                       "weights: the approximation misses a part of the posterior; {}",
                       doubt.parameter, std::abs(doubt.shift), kSampleByMcmc));
  if (size > kUselessDoubt) out.trusted = false;
}

}  // namespace magva
