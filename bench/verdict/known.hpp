#pragma once
// Densities whose means and sds are known, in closed form or by quadrature.
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "magva/model.hpp"

namespace magva::bench {

/// A coordinate on another scale, on which it is read: the sd of groups, not its logarithm.
struct KnownQuantity {
  std::string name;
  Index coordinate;
  std::function<double(double)> of;
  double mean, sd;
};

struct KnownPosterior {
  std::string kind;
  std::string detail;
  std::unique_ptr<Model> model;
  Vector mean;
  Vector sd;
  std::optional<KnownQuantity> quantity = {};  ///< reported beside all coordinates
};

/// Student-t coordinates, independent or with a common scale, mixed by a matrix.
KnownPosterior t_tails(std::mt19937_64& generator);
/// v ~ N(0, s^2), x_k | v ~ N(0, exp(v)).
KnownPosterior funnel(std::mt19937_64& generator);
/// z_0 ~ N(0, 1), z_1 | z_0 ~ N(bend (z_0^2 - 1), s^2), mixed by a matrix.
KnownPosterior banana(std::mt19937_64& generator);
/// Two normals some sds apart.
KnownPosterior two_modes(std::mt19937_64& generator);
/// The logarithm of a gamma variable, and a normal that hangs on it.
KnownPosterior log_gamma(std::mt19937_64& generator);
/// y_j ~ N(theta_j, s_j^2), theta_j ~ N(mu, tau^2), with coordinates theta_j or (theta_j - mu) / tau, mu and
/// log tau.
KnownPosterior group_sd(std::mt19937_64& generator);
/// The same as in the eight schools: noise of any size, other priors, and a truth that is exact but for one
/// integral.
KnownPosterior schools(std::mt19937_64& generator);
/// Rubin's own data, centred and non-centred, under four priors.
std::vector<KnownPosterior> eight_schools();

/// Two or three parameters and few rows: Poisson with exposures, negative binomial, gamma, Student t,
/// binomial.
KnownPosterior small_regression(std::mt19937_64& generator);
/// The same with 5 to 20 columns.
KnownPosterior regression(std::mt19937_64& generator);
/// Sinh-arcsinh variables mixed by a matrix, 2 to 5 of them.
KnownPosterior skewed(std::mt19937_64& generator);
/// Counts with more zeros than a Poisson distribution's; ordered responses of three levels.
KnownPosterior zero_inflated(std::mt19937_64& generator);
KnownPosterior ordered(std::mt19937_64& generator);
/// Groups' intercepts of a logistic regression, their mean and the log of their sd.
KnownPosterior binary_groups(std::mt19937_64& generator);

/// y ~ N(a b, s^2), where a and b are known by their prior alone.
KnownPosterior product(std::mt19937_64& generator);
/// A count with the mean exp(a + b).
KnownPosterior only_the_sum(std::mt19937_64& generator);
/// Logarithms of what is above 0, logits of what is between 0 and 1, near their bounds or far from them.
KnownPosterior bounded(std::mt19937_64& generator);
/// A funnel of which the x_k are known with some noise.
KnownPosterior funnel_with_data(std::mt19937_64& generator);
/// The means of a mixture's two components, which can change places.
KnownPosterior label_switching(std::mt19937_64& generator);

using Density = std::function<double(ConstVectorRef theta, VectorRef gradient)>;
std::unique_ptr<Model> make_model_of(Index dimension, Density density);

}  // namespace magva::bench
