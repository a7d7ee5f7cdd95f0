#pragma once
// The methods that the paper compares, and the settings it states for them.
#include <string>
#include <vector>

#include "algorithm1/options.hpp"

namespace magva::experiments {

enum class Optimiser {
  paper,    ///< Algorithm 1 with the paper's settings
  settled,  ///< the same family with steps that decay: what the family can do, whatever the rule
  slang,
};

struct Method {
  std::string id;     ///< in keys and file names
  std::string label;  ///< as the paper's tables call it
  FamilyKind family = FamilyKind::kMeanField;
  RuleKind rule = RuleKind::kAdadeltaStable;  ///< on B
  Optimiser optimiser = Optimiser::paper;
};

Method mean_field();
Method vafc();
Method slang();
/// The four rules of the paper on one manifold. AdaDelta on Stiefel is the guarded form: as printed it
/// overflows.
std::vector<Method> rules_on(FamilyKind manifold);
/// AdaDelta on Stiefel exactly as printed, shown for what it does.
Method literal_stiefel_adadelta();
/// A family on which nothing jitters: Adam with decaying steps, ten draws, path derivative, averaged
/// iterates.
Method settled(FamilyKind manifold);
/// Mean-field, VAFC, Stiefel and Grassmann with four rules each: the order of the paper's tables.
std::vector<Method> engine_methods();

/// Where the paper is silent: what the fits start from.
struct StartingValues {
  double factor_scale = 1;    ///< d1, or the length of B's columns where B is free
  double residual_scale = 1;  ///< d2
};

/// Of the paper: alpha .05, beta .95, epsilon 1e-6, one draw, the entropy in closed form; mu, d1 and d2 by
/// ADADELTA.
FitterOptions fit_options(const Method& method, Index rank, const StartingValues& start,
                          std::int64_t iterations, std::uint64_t seed);

}  // namespace magva::experiments
