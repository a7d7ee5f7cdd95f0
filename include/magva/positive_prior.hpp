#pragma once
// Priors on positive parameters (a noise scale, a shape, a group's standard deviation), as densities of the
// parameter's logarithm.
#include <string>

#include "magva/expectations.hpp"

namespace magva {

/// A log density of u = log x, Jacobian included, with its derivatives by u.
struct LogScaleDensity {
  double value = 0;
  double first = 0;
  double second = 0;
};

/// The distribution of a parameter x > 0. The density of log x is log-concave for all of these.
class PositivePrior {
 public:
  enum class Kind { gamma, inverse_gamma, half_student_t };

  /// Density proportional to x^(shape - 1) exp(-rate x). Each of these throws UsageError if an argument is
  /// not positive and finite.
  static PositivePrior gamma(double shape, double rate);
  static PositivePrior exponential(double rate) { return gamma(1.0, rate); }
  /// 1 / x ~ gamma(shape, rate = scale).
  static PositivePrior inverse_gamma(double shape, double scale);
  /// The absolute value of scale times a Student-t variable.
  static PositivePrior half_student_t(double degrees_of_freedom, double scale);
  static PositivePrior half_cauchy(double scale) { return half_student_t(1.0, scale); }

  Kind kind() const { return kind_; }
  /// Shape, or degrees of freedom.
  double shape() const { return shape_; }
  /// Rate for the gamma distribution, scale for the others.
  double scale() const { return scale_; }

  /// The log density of log x at u.
  LogScaleDensity at(double u) const;
  /// Its expectation under a normal u.
  NuisanceSums expect(const NormalMarginal& u) const;
  /// The u with the highest density: a place to start from.
  double mode() const;
  /// As the field writes it: "exponential(0.5)".
  std::string to_string() const;

 private:
  PositivePrior(Kind kind, double shape, double scale, double constant);
  Kind kind_;
  double shape_;
  double scale_;
  double constant_;  // of the log density
};

}  // namespace magva
