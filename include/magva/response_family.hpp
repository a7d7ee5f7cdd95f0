#pragma once
// The distribution of a response given its linear predictor, row by row: density and derivatives, mean,
// distribution function, simulation, and the priors of the family's own parameters.
#include <array>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "magva/positive_prior.hpp"
#include "magva/types.hpp"

namespace magva {

enum class Distribution {
  gaussian,           ///< N(eta, sigma^2)
  student_t,          ///< location eta, scale sigma, nu degrees of freedom
  bernoulli,          ///< P(y = 1) = inverse link of eta
  binomial,           ///< successes out of a number of trials
  poisson,            ///< mean exp(eta)
  negative_binomial,  ///< mean mu = exp(eta), variance mu + mu^2 / shape
  gamma,              ///< mean exp(eta), variance mean^2 / shape
  weibull,            ///< scale exp(eta): log y = eta + log(E) / shape with E ~ exponential(1)
  exponential,        ///< mean exp(eta): Weibull with shape 1
  ordered,            ///< cumulative logit, with cut points
  categorical,        ///< softmax: several linear predictors, see class_regression.hpp
};

enum class Link { identity, log, logit, probit, cloglog };

std::string to_string(Distribution family);
std::string to_string(Link link);
/// By its name, or by another that is in use ("negbinomial", "normal", "t", "Gamma", "ordinal", ...). Throws
/// UsageError with all names.
Distribution parse_distribution(std::string_view name);
Link parse_link(std::string_view name);
/// The first of the family's links.
Link default_link(Distribution family);
/// Throws UsageError with the family's links.
void check_link(Distribution family, Link link);

/// Whether rows may be right-censored: weibull and exponential.
bool allows_censoring(Distribution family);

/// What was observed of some rows.
struct ResponseRows {
  const double* response = nullptr;
  const double* trials = nullptr;  ///< null: 1 each
  const double* status = nullptr;  ///< 1 if the event was seen, 0 if right-censored; null: all seen
  Index rows = 0;

  ResponseRows from(Index first, Index count) const {
    return {response + first, trials ? trials + first : nullptr, status ? status + first : nullptr, count};
  }
};

/// On so many of its own values, at most, does a family make the density of one row depend.
inline constexpr std::size_t kMostOwnParameters = 2;

/// log p(y | eta, own) but for the constant c(y), and its derivatives. `own` are the logarithms of the
/// family's own parameters, or the cut points of an ordered response.
struct PointDerivatives {
  double value = 0;
  double by_eta = 0;
  double by_eta2 = 0;
  double by_eta3 = 0;
  std::array<double, kMostOwnParameters> by_own{};
  std::array<double, kMostOwnParameters> by_eta_own{};
  std::array<double, kMostOwnParameters> by_eta2_own{};
  std::array<double, 3> by_own2{};  ///< by the first twice, both, the second twice
};

/// One of the family's own parameters; its unconstrained coordinate is its logarithm.
struct OwnParameter {
  std::string name;  ///< "sigma", "shape", "nu"; the coordinate is called log_sigma and so on
  PositivePrior prior;
};

/// The defaults, which look at the scale of the response where a parameter has one: sigma ~
/// exponential(1 / sd(y)), nu ~ gamma(2, 0.1), shape ~ inv_gamma(0.4, 0.3) for negative_binomial (brms's:
/// nearly flat in the overdispersion 1 / sqrt(shape)), shape ~ gamma(0.01, 0.01) for gamma and weibull
/// (brms's). Empty weights: every row counts once.
std::vector<OwnParameter> default_own_parameters(Distribution family, ConstVectorRef response,
                                                 ConstVectorRef weights = Vector());

/// A family with one linear predictor. Stateless but for its priors: share it between threads.
class ResponseFamily {
 public:
  virtual ~ResponseFamily() = default;

  Distribution distribution() const { return family_; }
  Link link() const { return link_; }
  const std::vector<OwnParameter>& own() const { return own_; }
  virtual Index own_count() const { return static_cast<Index>(own_.size()); }
  /// The own value that the k-th of a row's PointDerivatives is by; negative: none.
  virtual Index own_of_row(double /*response*/, Index k) const { return k < own_count() ? k : -1; }

  /// One sentence for the first row that the family cannot have produced; empty if all can be.
  virtual std::vector<std::string> validate(const ResponseRows& rows) const;
  /// A linear predictor and own coordinates to start a search from. Empty weights: every row counts once.
  virtual double eta_start(const ResponseRows& rows, ConstVectorRef weights) const = 0;
  virtual Vector own_start(const ResponseRows& rows, ConstVectorRef weights) const;
  /// Whether log p is concave in eta and the own coordinates together.
  virtual bool log_concave() const = 0;

  /// c(y) of each row: the part of log p that depends on no parameter. The three functions after it leave it
  /// out, since it need be computed only once.
  virtual void constants(const ResponseRows& rows, double* value) const = 0;
  /// log p of each row.
  virtual void log_density(const ResponseRows& rows, const double* eta, const double* own,
                           double* value) const = 0;
  /// The sum over the rows, each times its weight; null: 1 each.
  virtual double log_likelihood(const ResponseRows& rows, const double* eta, const double* own,
                                const double* weight) const = 0;
  /// With its derivatives by eta; those by own coordinate k of row i go to by_own[k * rows.rows + i].
  virtual void slopes(const ResponseRows& rows, const double* eta, const double* own, double* value,
                      double* by_eta, double* by_own) const = 0;
  /// With its first two derivatives by eta.
  virtual void curvatures(const ResponseRows& rows, const double* eta, const double* own, double* value,
                          double* by_eta, double* by_eta2) const = 0;
  /// With all derivatives.
  virtual void derivatives(const ResponseRows& rows, const double* eta, const double* own,
                           PointDerivatives* out) const = 0;

  /// Their expectations under eta ~ N(mean, variance) row by row, closed or by quadrature, and not finite
  /// where they cannot be had.
  virtual void expected_derivatives(const ResponseRows& rows, const double* mean, const double* variance,
                                    const double* own, PointDerivatives* out) const = 0;

  /// E[y | eta] and Var[y | eta], which may be infinite.
  virtual double mean(double eta, const double* own, double trials = 1) const = 0;
  virtual double variance(double eta, const double* own, double trials = 1) const = 0;
  /// P(Y <= y | eta).
  virtual double cdf(double y, double eta, const double* own, double trials = 1) const = 0;
  /// A draw of y.
  virtual double simulate(double eta, const double* own, double trials, std::mt19937_64& generator) const = 0;
  /// Whether responses are whole numbers.
  bool discrete() const;

 protected:
  ResponseFamily(Distribution family, Link link, std::vector<OwnParameter> own)
      : family_(family), link_(link), own_(std::move(own)) {}

 private:
  Distribution family_;
  Link link_;
  std::vector<OwnParameter> own_;
};

/// Responses 0, 1, ..., classes - 1 with P(y <= k) = 1 / (1 + exp(eta - c_(k+1))). Its own values are the
/// increasing cut points c, and own() is empty. Throws UsageError with fewer than 2 classes.
std::shared_ptr<const ResponseFamily> make_ordered_family(Index classes);

/// Throws UsageError if the family has not such a link or such own parameters, or is one of those with
/// classes (ordered, categorical).
std::shared_ptr<const ResponseFamily> make_response_family(Distribution family, Link link,
                                                           std::vector<OwnParameter> own);

}  // namespace magva
