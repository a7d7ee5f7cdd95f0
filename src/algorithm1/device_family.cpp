#include "algorithm1/device_family.hpp"

#include <fmt/format.h>

#include <cmath>

namespace magva {

namespace {

int rule_number(RuleKind kind) {
  switch (kind) {
    case RuleKind::kBasic:
      return MAGVA_CUDA_BASIC;
    case RuleKind::kMomentum:
      return MAGVA_CUDA_MOMENTUM;
    case RuleKind::kRmsprop:
    case RuleKind::kRmspropGuarded:
      return MAGVA_CUDA_RMSPROP;
    case RuleKind::kAdadelta:
    case RuleKind::kAdadeltaGuarded:
      return MAGVA_CUDA_ADADELTA;
    case RuleKind::kRmspropStable:
      return MAGVA_CUDA_RMSPROP_STABLE;
    case RuleKind::kAdadeltaStable:
      return MAGVA_CUDA_ADADELTA_STABLE;
    case RuleKind::kAdam:
      break;
  }
  return MAGVA_CUDA_ADAM;
}

magva_cuda_rule device_rule(const RuleOptions& rule) {
  return {rule_number(rule.kind), rule.step,     rule.decay,
          rule.epsilon,           rule.momentum, rule.guard * std::sqrt(1 - rule.decay)};
}

int geometry(FamilyKind kind) {
  switch (kind) {
    case FamilyKind::kStiefel:
    case FamilyKind::kGrassmann:
      return MAGVA_CUDA_CURVED;
    case FamilyKind::kVafc:
      return MAGVA_CUDA_LOWER_TRAPEZOIDAL;
    case FamilyKind::kMeanField:
    case FamilyKind::kFixedRank:
    case FamilyKind::kFullRank:
      break;
  }
  return MAGVA_CUDA_FLAT;
}

}  // namespace

std::optional<std::string> family_stays(const FitterOptions& options) {
  if (options.family == FamilyKind::kFullRank || options.family == FamilyKind::kFixedRank)
    return fmt::format("the family {} has no kernels", name(options.family));
  if (options.natural_mean) return "natural gradients of the mean have no kernels";
  if (options.rank > MAGVA_CUDA_MOST_FACTORS)
    return fmt::format("there are {} factors, and kernels for at most {}", options.rank,
                       MAGVA_CUDA_MOST_FACTORS);
  if (options.draws > MAGVA_CUDA_MOST_FAMILY_DRAWS)
    return fmt::format("there are {} draws an iteration, and kernels for at most {}", options.draws,
                       MAGVA_CUDA_MOST_FAMILY_DRAWS);
  return std::nullopt;
}

magva_cuda_family_options device_options(const FitterOptions& options, Index dimension) {
  magva_cuda_family_options out{};
  out.dimension = dimension;
  out.rank = options.family == FamilyKind::kMeanField ? 0 : static_cast<std::int32_t>(options.rank);
  out.draws = static_cast<std::int32_t>(options.draws);
  out.antithetic = options.antithetic ? 1 : 0;
  out.log_scales = options.scales == ScaleCoordinates::kLog ? 1 : 0;
  out.geometry = geometry(options.family);
  out.averages = options.average_last > 0 ? 1 : 0;
  out.seed = options.seed;
  out.mean_rule = device_rule(options.mean_rule);
  out.residual_rule = device_rule(options.scale_rule);
  out.factor_rule = device_rule(options.factor_rule);
  return out;
}

}  // namespace magva
