#pragma once
// Priors on regression coefficients, with their hyper-parameters as further unconstrained coordinates.
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "magva/expectations.hpp"
#include "magva/types.hpp"

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
};

struct NormalPriorOptions {
  double variance = 10.0;  ///< of every coefficient, the intercept's too
  std::vector<std::string> problems() const;
};

/// How the horseshoe's coefficients are written.
enum class HorseshoeForm {
  centred,     ///< beta_j ~ N(0, lambda_j^2 tau^2) is a coordinate itself
  noncentred,  ///< xi_j ~ N(0, 1) is, and beta_j = xi_j lambda_j tau
};

/// beta_j ~ N(0, lambda_j^2 tau^2), lambda_j ~ half-Cauchy(0, 1), tau ~ half-Cauchy(0, tau_scale), the
/// intercept N(0, v). Coordinates: intercept, beta (or xi), log lambda, log tau.
struct HorseshoeOptions {
  HorseshoeForm form = HorseshoeForm::noncentred;
  double intercept_variance = 10.0;
  double tau_scale = 1.0;
  /// Where log tau starts. Unset: 0 for the non-centred form; for the centred form the log of
  /// p0 / (q - p0) * 2 / sqrt(n), the scale at which p0 = min(n, q) / 2 of q coefficients are expected to
  /// matter.
  std::optional<double> start_log_tau = std::nullopt;
  std::vector<std::string> problems() const;
};

/// Where 1 / tau^2 of the P-spline prior may lie.
enum class WeibullSupport {
  positive,   ///< the whole Weibull distribution
  above_one,  ///< as the paper prints it: the Weibull density restricted to (1, inf), normalised again
};

/// beta ~ N(0, (tau^2 P(psi))^-1) with P(psi) the tridiagonal precision of a stationary AR(1) process;
/// 1 / tau^2 ~ Weibull(shape a_tau, scale b_tau) on its support; psi uniform on (0, .99).
/// Coordinates: beta, log tau^2 (logit tau^2 if 1 / tau^2 > 1), logit(psi / .99).
struct AutoregressivePriorOptions {
  double a_tau = 0.5;
  double b_tau = 0.0088;
  double psi_limit = 0.99;
  WeibullSupport support = WeibullSupport::positive;
  std::vector<std::string> problems() const;
};

using PriorOptions = std::variant<NormalPriorOptions, HorseshoeOptions, AutoregressivePriorOptions>;

/// The prior for that many coefficients. Throws UsageError where the options cannot be meant.
std::shared_ptr<const CoefficientPrior> make_prior(const PriorOptions& options, Index coefficients);

}  // namespace magva
