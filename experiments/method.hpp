#pragma once
// The methods that the paper compares, the settings it states for them, and variants that explain its
// results.
#include <string>
#include <vector>

#include "algorithm1/options.hpp"

namespace magva::experiments {

enum class Optimiser {
  algorithm1,      ///< with the paper's settings
  decaying_steps,  ///< the same family optimised well: what the family can do, whatever the rule
  slang,
};

struct Method {
  std::string id;     ///< in keys and file names
  std::string label;  ///< as the paper's tables call it
  FamilyKind family = FamilyKind::kMeanField;
  RuleOptions rule = rule_defaults(RuleKind::kAdadeltaStable);            ///< on B
  RuleOptions euclidean_rule = rule_defaults(RuleKind::kAdadeltaStable);  ///< on mu, d1 and d2
  Estimator estimator = Estimator::kEntropy;
  Optimiser optimiser = Optimiser::algorithm1;
};

/// The paper's framework with p = 0.
Method mean_field();
/// As its authors run it: B free, ADADELTA, path-derivative estimator.
Method vafc();
/// VAFC with the closed-form entropy, the estimator of the paper's own methods.
Method vafc_with_entropy();
Method slang();
/// Steps of .02 and .05 that do not decay; the paper does not say what it used.
Method slang_with_constant_steps();
/// The four rules of the paper on one manifold. AdaDelta on Stiefel is the guarded form; the printed one is
/// shown beside it.
std::vector<Method> rules_on(FamilyKind manifold);
/// AdaDelta on Stiefel exactly as printed.
Method printed_stiefel_adadelta();
/// Fixed rank with a hundredth of the paper's step, and with AdaDelta whose accumulators are not projected.
std::vector<Method> fixed_rank_with_small_steps();
/// The same method with plain stochastic gradient steps of .05 for mu, d1 and d2.
Method with_plain_sgd(Method method);
/// Adam with decaying steps, ten draws, path derivative, averaged iterates.
Method decaying_steps(FamilyKind manifold);
/// Mean-field, VAFC, Stiefel and Grassmann with four rules each: the order of the paper's tables.
std::vector<Method> table_methods();
/// Stiefel and Grassmann with four rules each.
std::vector<Method> manifold_methods();

/// Where the paper is silent: what the fits start from.
struct StartingValues {
  double factor_scale = .1;    ///< d1, or the length of B's columns if B is free
  double residual_scale = .1;  ///< d2
};

/// Of the paper: alpha .05, beta .95, epsilon 1e-6, one draw per iteration.
FitterOptions fit_options(const Method& method, Index rank, const StartingValues& start,
                          std::int64_t iterations, std::uint64_t seed);

}  // namespace magva::experiments
