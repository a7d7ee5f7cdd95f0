#include "experiments/method.hpp"

namespace magva::experiments {

namespace {

void settle(FitterOptions& options) {
  options.scales = ScaleCoordinates::kLog;
  options.factor_rule.step = .02;
  options.mean_rule = options.scale_rule = options.factor_rule;
  options.estimator = Estimator::kPath;
  options.draws = 10;
  options.decay = StepDecay::kCosine;
  options.average_last = .5;
}

}  // namespace

Method mean_field() { return {.id = "mean-field", .label = "VAFC (p = 0), mean-field"}; }

Method vafc() { return {.id = "vafc", .label = "VAFC", .family = FamilyKind::kVafc}; }

Method slang() { return {.id = "slang", .label = "SLANG", .optimiser = Optimiser::slang}; }

std::vector<Method> rules_on(FamilyKind manifold) {
  const std::string letter = manifold == FamilyKind::kStiefel     ? "S"
                             : manifold == FamilyKind::kGrassmann ? "G"
                                                                  : "F";
  const std::string id = name(manifold);
  const RuleKind adadelta =
      manifold == FamilyKind::kStiefel ? RuleKind::kAdadeltaGuarded : RuleKind::kAdadelta;
  return {{id + "-basic", letter + "-RGD-Basic", manifold, RuleKind::kBasic},
          {id + "-momentum", letter + "-cRGD-M", manifold, RuleKind::kMomentum},
          {id + "-rmsprop", letter + "-RGD-RMSProp", manifold, RuleKind::kRmsprop},
          {id + "-adadelta", letter + "-RGD-AdaDelta", manifold, adadelta}};
}

Method literal_stiefel_adadelta() {
  return {.id = "stiefel-adadelta-printed",
          .label = "S-RGD-AdaDelta, as printed",
          .family = FamilyKind::kStiefel,
          .rule = RuleKind::kAdadelta};
}

Method settled(FamilyKind manifold) {
  const bool stiefel = manifold == FamilyKind::kStiefel;
  return {.id = std::string(name(manifold)) + "-settled",
          .label = stiefel ? "Stiefel, decaying steps" : "Grassmann, decaying steps",
          .family = manifold,
          .rule = RuleKind::kAdam,
          .optimiser = Optimiser::settled};
}

std::vector<Method> engine_methods() {
  std::vector<Method> all{mean_field(), vafc()};
  for (const FamilyKind manifold : {FamilyKind::kStiefel, FamilyKind::kGrassmann})
    for (Method& method : rules_on(manifold)) all.push_back(std::move(method));
  return all;
}

FitterOptions fit_options(const Method& method, Index rank, const StartingValues& start,
                          std::int64_t iterations, std::uint64_t seed) {
  FitterOptions options;
  options.family = method.family;
  options.rank = method.family == FamilyKind::kMeanField ? 0 : rank;
  options.initial_factor_scale = start.factor_scale;
  options.initial_residual_scale = start.residual_scale;
  options.factor_rule = rule_defaults(method.rule);
  options.mean_rule = options.scale_rule = rule_defaults(RuleKind::kAdadeltaStable);
  options.estimator = Estimator::kEntropy;
  options.draws = 1;
  options.seed = seed;
  options.max_iterations = iterations;
  if (method.optimiser == Optimiser::settled) settle(options);
  return options;
}

}  // namespace magva::experiments
