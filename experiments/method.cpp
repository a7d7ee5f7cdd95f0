#include "experiments/method.hpp"

namespace magva::experiments {

namespace {

void apply_decaying_steps(FitterOptions& options) {
  options.scales = ScaleCoordinates::kLog;
  options.factor_rule.step = .02;
  options.mean_rule = options.scale_rule = options.factor_rule;
  options.estimator = Estimator::kPath;
  options.draws = 10;
  options.decay = StepDecay::kCosine;
  options.average_last = .5;
}

RuleOptions with_step(RuleKind kind, double step) {
  RuleOptions options = rule_defaults(kind);
  options.step = step;
  return options;
}

}  // namespace

Method mean_field() { return {.id = "mean-field", .label = "VAFC (p = 0), mean-field"}; }

Method vafc() {
  return {.id = "vafc", .label = "VAFC", .family = FamilyKind::kVafc, .estimator = Estimator::kPath};
}

Method vafc_with_entropy() {
  return {.id = "vafc-entropy", .label = "VAFC, entropy in closed form", .family = FamilyKind::kVafc};
}

Method slang() { return {.id = "slang", .label = "SLANG", .optimiser = Optimiser::slang}; }

Method slang_with_constant_steps() {
  return {.id = "slang-constant", .label = "SLANG, constant steps", .optimiser = Optimiser::slang};
}

std::vector<Method> rules_on(FamilyKind manifold) {
  const std::string letter = manifold == FamilyKind::kStiefel     ? "S"
                             : manifold == FamilyKind::kGrassmann ? "G"
                                                                  : "F";
  const std::string id = name(manifold);
  const RuleKind adadelta =
      manifold == FamilyKind::kStiefel ? RuleKind::kAdadeltaGuarded : RuleKind::kAdadelta;
  return {{id + "-basic", letter + "-RGD-Basic", manifold, rule_defaults(RuleKind::kBasic)},
          {id + "-momentum", letter + "-cRGD-M", manifold, rule_defaults(RuleKind::kMomentum)},
          {id + "-rmsprop", letter + "-RGD-RMSProp", manifold, rule_defaults(RuleKind::kRmsprop)},
          {id + "-adadelta", letter + "-RGD-AdaDelta", manifold, rule_defaults(adadelta)}};
}

Method printed_stiefel_adadelta() {
  return {.id = "stiefel-adadelta-printed",
          .label = "S-RGD-AdaDelta, as printed",
          .family = FamilyKind::kStiefel,
          .rule = rule_defaults(RuleKind::kAdadelta)};
}

std::vector<Method> fixed_rank_with_small_steps() {
  constexpr FamilyKind fixed = FamilyKind::kFixedRank;
  return {
      {"fixed-rank-basic-small", "F-RGD-Basic, step .0005", fixed, with_step(RuleKind::kBasic, .0005)},
      {"fixed-rank-rmsprop-small", "F-RGD-RMSProp, step .0005", fixed, with_step(RuleKind::kRmsprop, .0005)},
      {"fixed-rank-adadelta-stable", "F, AdaDelta with plain accumulators", fixed,
       rule_defaults(RuleKind::kAdadeltaStable)}};
}

Method with_plain_sgd(Method method) {
  method.id += "-sgd";
  method.label += ", plain SGD";
  method.euclidean_rule = with_step(RuleKind::kBasic, .05);
  return method;
}

Method decaying_steps(FamilyKind manifold) {
  const bool stiefel = manifold == FamilyKind::kStiefel;
  return {.id = std::string(name(manifold)) + "-decaying",
          .label = stiefel ? "Stiefel, decaying steps" : "Grassmann, decaying steps",
          .family = manifold,
          .rule = rule_defaults(RuleKind::kAdam),
          .optimiser = Optimiser::decaying_steps};
}

std::vector<Method> manifold_methods() {
  std::vector<Method> all;
  for (const FamilyKind manifold : {FamilyKind::kStiefel, FamilyKind::kGrassmann})
    for (Method& method : rules_on(manifold)) all.push_back(std::move(method));
  return all;
}

std::vector<Method> table_methods() {
  std::vector<Method> all{mean_field(), vafc()};
  for (Method& method : manifold_methods()) all.push_back(std::move(method));
  return all;
}

FitterOptions fit_options(const Method& method, Index rank, const StartingValues& start,
                          std::int64_t iterations, std::uint64_t seed) {
  FitterOptions options;
  options.family = method.family;
  options.rank = method.family == FamilyKind::kMeanField ? 0 : rank;
  options.initial_factor_scale = start.factor_scale;
  options.initial_residual_scale = start.residual_scale;
  options.factor_rule = method.rule;
  options.mean_rule = options.scale_rule = method.euclidean_rule;
  options.estimator = method.estimator;
  options.draws = 1;
  options.seed = seed;
  options.max_iterations = iterations;
  if (method.optimiser == Optimiser::decaying_steps) apply_decaying_steps(options);
  return options;
}

}  // namespace magva::experiments
