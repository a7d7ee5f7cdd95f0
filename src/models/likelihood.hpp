#pragma once
// p(y | eta) for one observation with linear predictor eta, and what a regression needs to know about it.
#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "magva/expectations.hpp"
#include "magva/regression.hpp"
#include "magva/response_family.hpp"

namespace magva {

/// What a likelihood needs of its own parameter, worked out once per draw.
struct Shape {
  double precision = 1.0;                        ///< 1 / sigma^2
  double log_scale = 0.0;                        ///< log sigma
  std::array<double, kMostOwnParameters> own{};  ///< the coordinates themselves
};

/// Responses and weights of a block of rows.
struct ResponseBlock {
  const double* response;
  const double* weight;
  Index rows;
  bool unweighted = false;         ///< every weight is 1, or 0 if a row only fills up
  const double* status = nullptr;  ///< 1 if the event was seen, 0 if right-censored; null: all seen
};

/// Sums over rows: one draw's, in eight parts that are added up once all blocks are done, the rows i, i + 8,
/// ... each; or those of a vector of draws, a part each. Whole cache lines: threads are at different ones.
struct alignas(64) BlockSums {
  BlockSums() { product.fill(1.0); }
  std::array<double, 8> log_likelihood{};
  std::array<double, 8> product{};  ///< whose logarithm close() will subtract
  std::array<double, 8> nuisance_gradient{};
  std::array<double, 8> second_gradient{};  ///< of the second nuisance coordinate
  Index factors = 0;                        ///< in each part of the product
};

/// The likelihoods that are computed elsewhere, too, such as on a GPU.
enum class LikelihoodKind { bernoulli_logit, poisson_log, gaussian, other };

/// A likelihood that is a product over observations. Its own parameters, at most kMostOwnParameters of them,
/// are unconstrained coordinates (log sigma), the last ones of the model.
class Likelihood {
 public:
  virtual ~Likelihood() = default;

  virtual LikelihoodKind kind() const { return LikelihoodKind::other; }
  /// One sentence for each fault of the responses, none if they can be used.
  virtual std::vector<std::string> validate(ConstVectorRef response) const = 0;
  /// The same for rows that may have trials or be censored.
  virtual std::vector<std::string> validate_rows(const ResponseRows& rows) const;
  /// sum_i w_i c(y_i), with c(y) the part of log p(y | eta) that depends on no parameter.
  virtual double constant(ConstVectorRef response, ConstVectorRef weight) const = 0;
  virtual double constant_of_rows(const ResponseRows& rows, ConstVectorRef weight) const;
  /// Where the intercept alone would be: the link of the weighted mean response.
  virtual double intercept_start(ConstVectorRef response, ConstVectorRef weight) const = 0;

  virtual Index nuisance_count() const { return 0; }
  virtual std::string nuisance_name(Index /*k*/) const { return {}; }
  virtual double nuisance_start(Index /*k*/, ConstVectorRef /*response*/, ConstVectorRef /*weight*/) const {
    return 0.0;
  }
  /// Log prior density of coordinate k, Jacobian included; adds its derivative to `gradient`.
  virtual double nuisance_prior(Index /*k*/, double /*value*/, double& /*gradient*/) const { return 0.0; }
  virtual Shape shape(const double* /*own*/) const { return {}; }

  /// Column s of `eta` (leading dimension `stride`) holds the linear predictors of draw s and is overwritten
  /// with the weighted derivatives d log p / d eta; adds the weighted sums of draw s to sums[s], without the
  /// constant. There is a multiple of 8 rows: those that fill up the last block have weight 0.
  virtual void evaluate_block(const ResponseBlock& block, double* eta, Index stride, Index draws,
                              const Shape* shapes, BlockSums* sums) const = 0;
  /// The same for a vector of draws, as many as the processor's registers have lanes: row i of `eta` begins
  /// at that number times i, and part s of `sums` is draw s's. There are as many rows as there are.
  virtual void evaluate_vector(const ResponseBlock& block, double* eta, const Shape* shapes,
                               BlockSums& sums) const = 0;
  /// Called for all sums after the last block.
  virtual void close(BlockSums& /*sums*/) const {}
  /// log p(y_i | eta_i), constants included; `eta` is overwritten.
  virtual void log_density(ConstVectorRef response, VectorRef eta, const Shape& shape) const = 0;

  /// Expectations under normal predictors, if they are known without draws.
  virtual std::shared_ptr<const ExpectedLikelihood> expectations() const { return nullptr; }

  /// E[y | eta].
  virtual double mean(double eta, const Shape& shape) const = 0;
  /// A draw of y given eta.
  virtual double simulate(double eta, const Shape& shape, std::mt19937_64& generator) const = 0;
};

namespace detail {
/// y ~ N(eta, sigma^2) with that prior of sigma.
std::shared_ptr<const Likelihood> gaussian(const PositivePrior& sigma);

/// The likelihood's shape at theta, a point of the model's space.
inline Shape shape_at(const Likelihood& likelihood, ConstVectorRef theta) {
  return likelihood.shape(theta.data() + theta.size() - likelihood.nuisance_count());
}
}  // namespace detail

}  // namespace magva
