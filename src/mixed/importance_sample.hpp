#pragma once
// Weighted draws from the posterior of a mixed model, by few evaluations of its log density.
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/control.hpp"
#include "magva/diagnostics.hpp"
#include "magva/mixed.hpp"
#include "mixed/student_draws.hpp"

namespace magva::mixed {

/// Rounds of proposals from t distributions. Each proposal is weighted by the mixture of all rounds (Cornuet,
/// Marin, Mira & Robert 2012), so that no evaluation is lost when the proposals move.
class ImportanceSample {
 public:
  /// `control` may be null.
  ImportanceSample(const MixedModel& model, Workers& workers, Control* control)
      : model_(model),
        workers_(workers),
        control_(control),
        logs_(named(model.model(), "log_")),
        log_sds_(named(model.model(), "log_sd(")) {}

  /// Another round. Throws Stopped if the control says so.
  void add(const Gaussian& around, Index count, std::uint64_t seed);

  Index size() const { return theta_.cols(); }
  const Matrix& theta() const { return theta_; }
  /// Pareto smoothed; unset if the log density is finite nowhere.
  std::optional<SmoothedWeights> weights() const;
  /// Mean and covariance by these weights, which are flattened as far as it takes for them to rest on some
  /// draws a dimension; unset if there is no such Gaussian.
  std::optional<Gaussian> moments(const SmoothedWeights& weights) const;
  /// The largest standard error of the sd of a parameter, relative to that sd, if draws were independent;
  /// logarithms count as what they are logarithms of, whose distributions are skewed.
  double error_of_sds(const SmoothedWeights& weights) const;
  /// E[log h - log q] under a Gaussian near the proposals, from the same evaluations.
  struct Elbo {
    double value;
    double se;
  };
  Elbo elbo(const Gaussian& q) const;
  /// `count` columns of theta, each as often as its weight says, give or take one; equal ones are neighbours.
  Matrix resample(const SmoothedWeights& weights, Index count, std::uint64_t seed) const;

 private:
  /// The parameters whose names begin so.
  static std::vector<Index> named(const Model& model, std::string_view beginning);
  /// Log density of the mixture of all rounds at each proposal.
  Vector mixture() const;

  const MixedModel& model_;
  Workers& workers_;
  Control* control_;
  std::vector<Index> logs_, log_sds_;
  std::vector<StudentT> rounds_;
  std::vector<Index> counts_;
  Matrix theta_;
  Vector log_posterior_;
  Matrix log_proposal_;  // a row for each proposal, a column for each round
};

}  // namespace magva::mixed
