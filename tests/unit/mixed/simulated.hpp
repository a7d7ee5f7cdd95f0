#pragma once
// Small simulated data with groups.
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "magva/mixed.hpp"
#include "magva/response_family.hpp"

namespace magva::mixed_test {

inline std::vector<std::string> level_names(Index count) {
  std::vector<std::string> names;
  for (Index g = 0; g < count; ++g) names.push_back("g" + std::to_string(g + 1));
  return names;
}

/// A term whose groups are drawn at random, with an intercept and normal slopes as effects.
inline GroupTerm random_term(const std::string& name, Index rows, Index levels, Index effects,
                             std::mt19937_64& generator) {
  std::normal_distribution<double> normal;
  GroupTerm term;
  term.name = name;
  term.levels = level_names(levels);
  for (Index i = 0; i < rows; ++i)
    term.group.push_back(static_cast<std::int32_t>(generator() % static_cast<std::uint64_t>(levels)));
  if (effects == 1) return term;
  term.z = RowMatrix::Ones(rows, effects);
  term.effects = {"Intercept"};
  for (Index a = 1; a < effects; ++a) {
    term.effects.push_back("x" + std::to_string(a));
    for (Index i = 0; i < rows; ++i) term.z(i, a) = normal(generator);
  }
  return term;
}

/// An intercept and a normal column.
inline RowMatrix random_design(Index rows, std::mt19937_64& generator) {
  std::normal_distribution<double> normal;
  RowMatrix x = RowMatrix::Ones(rows, 2);
  for (Index i = 0; i < rows; ++i) x(i, 1) = normal(generator);
  return x;
}

inline double normal_density(double x) { return std::exp(-.5 * x * x) / std::sqrt(2 * std::numbers::pi); }

inline MixedPriors weak_priors(const MixedData& data, double sd_scale = 2.5) {
  MixedPriors priors;
  priors.location = Vector::Zero(data.design.cols());
  priors.scale = Vector::Constant(data.design.cols(), 2.5);
  for (const GroupTerm& term : data.terms)
    priors.sd_scale.push_back(Vector::Constant(term.effect_count(), sd_scale));
  return priors;
}

inline double evaluate(const Model& model, ConstVectorRef theta, int threads = 1) {
  Vector value(1);
  Matrix gradient(model.dimension(), 1);
  const std::unique_ptr<Scratch> scratch = model.make_scratch(1);
  Workers workers(threads);
  Evaluation evaluation{*scratch, workers, 0};
  model.evaluate(theta, value, gradient, evaluation);
  return value(0);
}

}  // namespace magva::mixed_test
