#pragma once
// What a regression needs to know about a prior on its coefficients.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "magva/expectations.hpp"
#include "magva/independent_prior.hpp"
#include "magva/regression.hpp"

namespace magva {

/// A prior over coordinates (coefficients or what they are made of first, hyper-parameters after them).
class CoefficientPrior {
 public:
  virtual ~CoefficientPrior() = default;

  virtual Index coefficients() const = 0;
  virtual Index dimension() const = 0;
  /// Numbers of working memory that one draw needs.
  virtual Index buffer_size() const { return 0; }

  /// The coefficients at theta: theta itself where they are its first coordinates, else a part of `buffer`.
  virtual const double* coefficients_at(const double* theta, double* /*buffer*/) const { return theta; }
  /// Whether they are linear in theta.
  virtual bool coefficients_are_coordinates() const { return true; }
  /// On entry `gradient` starts with the derivative of the log likelihood by the coefficients; on return it
  /// holds that of log likelihood + log prior by all coordinates. `buffer` is as coefficients_at left it.
  /// Returns the log prior density, Jacobians and constants included.
  virtual double add_to(const double* theta, const double* buffer, double* gradient) const = 0;

  /// Fills in where a search may start: `theta` is zero on entry, `intercept` is the linear predictor that
  /// suits the mean of that many observations.
  virtual void start(VectorRef theta, double intercept, Index /*rows*/) const { theta(0) = intercept; }
  virtual std::string parameter_name(Index i, const std::vector<std::string>& coefficient_names) const = 0;

  /// Expectations under a Gaussian, if they are known without draws.
  virtual std::shared_ptr<const ExpectedPrior> expectations() const { return nullptr; }
  /// If that is all there is to it.
  virtual std::optional<IndependentPriors> independent() const { return std::nullopt; }
};

}  // namespace magva
