// What an iteration of Algorithm 1 does with one row of a low-rank family's blocks, theta = mu + B (d1 o z) + d2 o epsilon: for the
// device's threads, and for the tests on the processor. Matrices are column-major, with `rows` entries a column.
#ifndef MAGVA_FAMILY_ROWS_H
#define MAGVA_FAMILY_ROWS_H
#include <cmath>
#include <cstdint>

#include "magva_cuda.h"

#ifdef __CUDACC__
#define MAGVA_ROW __host__ __device__ inline
#else
#define MAGVA_ROW inline
#endif

namespace magva_cuda {

/// A block with the memory of its rule.
struct FamilyBlock {
  double* value;
  double* memory[3];
  magva_cuda_rule rule;
};

struct FamilyRows {
  std::int64_t rows;
  int rank, draws;
  bool antithetic, log_scales, lower_trapezoidal, curved;
  std::uint64_t seed;
  FamilyBlock mean, residual, factors;
  double* direction;  // the factors' gradient, then the matrix whose projection is their step
  double* sd;         // d2 as the draws have it
  double *epsilon, *theta, *gradient;  // a column for each draw
  const double *centre, *scale;        // theta = centre + scale o phi; null: phi itself
};

/// Philox4x32 with ten rounds (Salmon, Moraes, Dror & Shaw 2011).
struct PhiloxCounter {
  std::uint32_t word[4];
};
MAGVA_ROW PhiloxCounter philox(PhiloxCounter c, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53u} * c.word[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57u} * c.word[2];
    c = {{static_cast<std::uint32_t>(product1 >> 32) ^ c.word[1] ^ key0, static_cast<std::uint32_t>(product1),
          static_cast<std::uint32_t>(product0 >> 32) ^ c.word[3] ^ key1, static_cast<std::uint32_t>(product0)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return c;
}

/// On (0, 1): 52 random bits and a half.
MAGVA_ROW double uniform_of(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (static_cast<std::uint64_t>(high) << 20) | (low >> 12);
  return static_cast<double>(bits) * 0x1p-52 + 0x1p-53;
}

/// The normal of this coordinate in Noise(seed, NoiseStream::kFit), to rounding.
MAGVA_ROW double fit_noise(std::uint64_t seed, std::uint64_t iteration, std::uint32_t draw, std::int64_t coordinate) {
  const PhiloxCounter bits =
      philox({{static_cast<std::uint32_t>(coordinate / 2), draw, static_cast<std::uint32_t>(iteration),
               static_cast<std::uint32_t>((iteration >> 32) & 0xffffffu)}},
             static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  const double radius = std::sqrt(-2 * std::log(uniform_of(bits.word[0], bits.word[1])));
  const double turn = uniform_of(bits.word[2], bits.word[3]);
#ifdef __CUDA_ARCH__
  return radius * (coordinate % 2 == 0 ? cospi(2 * turn) : sinpi(2 * turn));
#else
  constexpr double kTwoPi = 6.283185307179586476925286766559;
  return radius * (coordinate % 2 == 0 ? std::cos(kTwoPi * turn) : std::sin(kTwoPi * turn));
#endif
}

/// What the draws' rows add up to: log |d2|, and something that is not 0 if the mean is not finite.
struct DrawRow {
  double log_scale, zero;
};
MAGVA_ROW DrawRow draw_row(const FamilyRows& f, std::int64_t i, std::uint64_t iteration, const double* scaled_noise) {
  const double sd = f.log_scales ? std::exp(f.residual.value[i]) : f.residual.value[i];
  const double mean = f.mean.value[i];
  f.sd[i] = sd;
  const int own = f.antithetic ? f.draws / 2 : f.draws;
  for (int s = 0; s < f.draws; ++s) {
    const double epsilon = s < own ? fit_noise(f.seed, iteration, static_cast<std::uint32_t>(s), f.rank + i)
                                   : -f.epsilon[(s - own) * f.rows + i];
    f.epsilon[s * f.rows + i] = epsilon;
    double phi = sd * epsilon + mean;
    for (int j = 0; j < f.rank; ++j) phi += f.factors.value[j * f.rows + i] * scaled_noise[s * f.rank + j];
    f.theta[s * f.rows + i] = f.scale == nullptr ? phi : f.centre[i] + f.scale[i] * phi;
  }
  return {std::log(std::fabs(sd)), mean * 0};
}

/// The path estimator's term: Sigma^-1 (theta - mu) = epsilon / d2 + D2^-2 B T, with T p x draws.
MAGVA_ROW void path_row(const FamilyRows& f, std::int64_t i, const double* coefficients) {
  const double inverse = 1 / f.sd[i];
  for (int s = 0; s < f.draws; ++s) {
    double sum = 0;
    for (int j = 0; j < f.rank; ++j) sum += f.factors.value[j * f.rows + i] * coefficients[s * f.rank + j];
    f.gradient[s * f.rows + i] += f.epsilon[s * f.rows + i] * inverse + inverse * inverse * sum;
  }
}

// The rules, a number at a time; `power` are Adam's two, for the correction of its start at zero.
MAGVA_ROW double blend_square(double old, double beta, double x) { return (1 - beta) * (x * x - old) + old; }
MAGVA_ROW double signed_root(double e, double epsilon) {
  const double root = std::sqrt(std::fabs(e));
  return (e < 0 ? -root : root) + epsilon;
}
MAGVA_ROW double guarded(double denominator, double floor) {
  return denominator < 0 ? -std::fmax(floor, -denominator) : std::fmax(floor, denominator);
}

MAGVA_ROW bool has_two_stages(int kind) {
  return kind == MAGVA_CUDA_RMSPROP || kind == MAGVA_CUDA_ADADELTA || kind == MAGVA_CUDA_ADAM;
}

/// What the gradient does to the memory that is projected before the step is known.
MAGVA_ROW void enter(const FamilyBlock& b, std::int64_t at, double g) {
  double& memory = b.memory[0][at];
  if (b.rule.kind == MAGVA_CUDA_ADAM)
    memory = b.rule.momentum * memory + (1 - b.rule.momentum) * g;
  else
    memory = blend_square(memory, b.rule.decay, g);
}

MAGVA_ROW double direction_of(const FamilyBlock& b, std::int64_t at, double g, const double* power) {
  const magva_cuda_rule& r = b.rule;
  switch (r.kind) {
    case MAGVA_CUDA_BASIC:
      return r.step * g;
    case MAGVA_CUDA_MOMENTUM:
      return b.memory[0][at] = r.decay * b.memory[0][at] + r.step * g;
    case MAGVA_CUDA_RMSPROP:
      return r.step * (g / guarded(signed_root(b.memory[0][at], r.epsilon), r.floor * std::fabs(g)));
    case MAGVA_CUDA_ADADELTA: {
      double& moment = b.memory[1][at];
      const double denominator = guarded(signed_root(b.memory[0][at], r.epsilon), r.floor * std::fabs(g));
      const double v = g * signed_root(moment, r.epsilon) / denominator;
      moment = blend_square(moment, r.decay, v);
      return v;
    }
    case MAGVA_CUDA_RMSPROP_STABLE: {
      const double square = b.memory[0][at] = blend_square(b.memory[0][at], r.decay, g);
      return r.step * g / (std::sqrt(square) + r.epsilon);
    }
    case MAGVA_CUDA_ADADELTA_STABLE: {
      double& moment = b.memory[1][at];
      const double square = b.memory[0][at] = blend_square(b.memory[0][at], r.decay, g);
      const double v = std::sqrt((moment + r.epsilon) / (square + r.epsilon)) * g;
      moment = blend_square(moment, r.decay, v);
      return v;
    }
    default: {  // Adam
      const double square = b.memory[1][at] = blend_square(b.memory[1][at], r.decay, g);
      return r.step / (1 - power[0]) * b.memory[0][at] / (std::sqrt(square / (1 - power[1])) + r.epsilon);
    }
  }
}

/// x + scale v where that is finite; else x, and *spoilt is no longer 0.
MAGVA_ROW double advanced(double x, double scale, double v, double* spoilt) {
  const double by = scale * v;
  const double zero = by * 0;
  *spoilt += zero;
  return zero == 0 ? x + by : x;
}

/// A step of a block without curvature; `out_of_place`: an entry that the manifold keeps at 0.
MAGVA_ROW void flat_step(const FamilyBlock& b, std::int64_t at, double g, double scale, const double* power, bool out_of_place,
                         double* spoilt) {
  if (has_two_stages(b.rule.kind)) enter(b, at, g);
  if (out_of_place && has_two_stages(b.rule.kind)) b.memory[0][at] = 0;
  const double v = direction_of(b, at, out_of_place && b.rule.kind == MAGVA_CUDA_ADAM ? 0 : g, power);
  if (out_of_place) {
    if (b.rule.kind == MAGVA_CUDA_MOMENTUM) b.memory[0][at] = 0;
    if (b.rule.kind == MAGVA_CUDA_ADADELTA) b.memory[1][at] = 0;
    return;
  }
  b.value[at] = advanced(b.value[at], scale, v, spoilt);
}

/// What the gradient pass is given beside the rows. Powers: two each for mean, residual scales and factors.
struct GradientGiven {
  double scale;
  bool path;
  const double *weight, *weighted_noise, *inverse, *power;
};

/// The paper's (Stiefel2) and (Stiefel4) on this row (see LowRank::compute_gradient_rows), and the steps of mu, d2 and, if it is flat, B.
/// Returns something that is not 0 if a step was not finite.
MAGVA_ROW double gradient_row(const FamilyRows& f, std::int64_t i, const GradientGiven& given) {
  const int p = f.rank;
  const double inverse = 1 / f.sd[i];
  const double w = inverse * inverse;
  double of_mean = 0;
  double of_residual = 0;
  for (int s = 0; s < f.draws; ++s) {
    const double share = given.weight[s] * f.gradient[s * f.rows + i];
    of_mean += share;
    of_residual += share * f.epsilon[s * f.rows + i];
  }
  double spoilt = 0;
  double quadratic = 0;
  for (int j = 0; j < p; ++j) {
    double bk = 0;
    if (!given.path)
      for (int l = 0; l < p; ++l) bk += f.factors.value[l * f.rows + i] * given.inverse[j * p + l];
    quadratic += bk * f.factors.value[j * f.rows + i];
    double sum = bk * w;
    for (int s = 0; s < f.draws; ++s) sum += given.weighted_noise[s * p + j] * f.gradient[s * f.rows + i];
    f.direction[j * f.rows + i] = sum;
  }
  if (!given.path) of_residual += (1 - w * quadratic) * inverse;
  if (f.log_scales) of_residual *= f.sd[i];
  flat_step(f.mean, i, of_mean, given.scale, given.power, false, &spoilt);
  flat_step(f.residual, i, of_residual, given.scale, given.power + 2, false, &spoilt);
  for (int j = 0; j < p; ++j) {
    const std::int64_t at = j * f.rows + i;
    const double g = f.direction[at];
    if (!f.curved)
      flat_step(f.factors, at, g, given.scale, given.power + 4, f.lower_trapezoidal && i < j, &spoilt);
    else if (has_two_stages(f.factors.rule.kind))
      enter(f.factors, at, g);
    else
      f.direction[at] = direction_of(f.factors, at, g, given.power + 4);
  }
  return spoilt;
}

/// to <- to - x S on row i, with x's row from `x`.
MAGVA_ROW void subtract_product_row(const FamilyRows& f, std::int64_t i, const double* x, const double* normal, double* to) {
  for (int j = 0; j < f.rank; ++j) {
    double sum = 0;
    for (int l = 0; l < f.rank; ++l) sum += x[l * f.rows + i] * normal[j * f.rank + l];
    to[j * f.rows + i] -= sum;
  }
}

/// The second stage of a rule that has two: `normal_memory` and, for Adam, `normal_gradient` project what entered.
MAGVA_ROW void direct_row(const FamilyRows& f, std::int64_t i, const double* normal_memory, const double* normal_gradient,
                          const double* power) {
  subtract_product_row(f, i, f.factors.value, normal_memory, f.factors.memory[0]);
  if (f.factors.rule.kind == MAGVA_CUDA_ADAM) subtract_product_row(f, i, f.factors.value, normal_gradient, f.direction);
  for (int j = 0; j < f.rank; ++j) {
    const std::int64_t at = j * f.rows + i;
    f.direction[at] = direction_of(f.factors, at, f.direction[at], power);
  }
}

/// What remains to be done with a rule's memory before these rows of B change.
MAGVA_ROW void settle_row(const FamilyRows& f, std::int64_t i, const double* normal_step, const double* normal_steps) {
  if (f.factors.rule.kind == MAGVA_CUDA_MOMENTUM) subtract_product_row(f, i, f.factors.value, normal_step, f.factors.memory[0]);
  if (f.factors.rule.kind != MAGVA_CUDA_ADADELTA) return;
  subtract_product_row(f, i, f.factors.memory[2], normal_steps, f.factors.memory[1]);
  for (int j = 0; j < f.rank; ++j) f.factors.memory[2][j * f.rows + i] = f.factors.value[j * f.rows + i];
}

/// B <- B L + V R.
MAGVA_ROW void combine_row(const FamilyRows& f, std::int64_t i, const double* left, const double* right) {
  double row[MAGVA_CUDA_MOST_FACTORS];
  for (int j = 0; j < f.rank; ++j) {
    row[j] = 0;
    for (int l = 0; l < f.rank; ++l)
      row[j] += f.factors.value[l * f.rows + i] * left[j * f.rank + l] + f.direction[l * f.rows + i] * right[j * f.rank + l];
  }
  for (int j = 0; j < f.rank; ++j) f.factors.value[j * f.rows + i] = row[j];
}

/// B <- B + scale (V - B S), without what is not finite.
MAGVA_ROW double add_tangent_row(const FamilyRows& f, std::int64_t i, const double* normal_step, double scale) {
  subtract_product_row(f, i, f.factors.value, normal_step, f.direction);
  double spoilt = 0;
  for (int j = 0; j < f.rank; ++j) {
    const std::int64_t at = j * f.rows + i;
    f.factors.value[at] = advanced(f.factors.value[at], scale, f.direction[at], &spoilt);
  }
  return spoilt;
}

/// Independent priors of the coefficients: Student-t, or normal where the degrees of freedom are infinite (or `degrees` is null).
struct PriorRows {
  std::int64_t coefficients;
  const double *location, *scale, *degrees;
};
/// Log density without its constant; `slope` is added to.
MAGVA_ROW double prior_row(const PriorRows& prior, std::int64_t i, double theta, double* slope) {
  const double r = theta - prior.location[i];
  const double scale = prior.scale[i];
  if (prior.degrees == nullptr || std::isinf(prior.degrees[i])) {
    const double z = r / scale;
    *slope -= z / scale;
    return -.5 * z * z;
  }
  const double nu = prior.degrees[i];
  const double c = nu * scale * scale;
  *slope -= (nu + 1) * r / (c + r * r);
  return -.5 * (nu + 1) * std::log1p(r * r / c);
}

}  // namespace magva_cuda
#endif
