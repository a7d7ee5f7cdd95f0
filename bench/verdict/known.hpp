#pragma once
// Densities whose means and sds are known, in closed form or by quadrature.
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "magva/model.hpp"

namespace magva::bench {

struct KnownPosterior {
  std::string kind;
  std::string detail;
  std::unique_ptr<Model> model;
  Vector mean;
  Vector sd;
};

/// Student-t coordinates, independent or with a common scale, mixed by a matrix.
KnownPosterior t_tails(std::mt19937_64& generator);
/// v ~ N(0, s^2), x_k | v ~ N(0, exp(v)).
KnownPosterior funnel(std::mt19937_64& generator);
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
/// Sinh-arcsinh variables mixed by a matrix, 2 to 5 of them.
KnownPosterior skewed(std::mt19937_64& generator);

using Density = std::function<double(ConstVectorRef theta, VectorRef gradient)>;
std::unique_ptr<Model> make_model_of(Index dimension, Density density);

}  // namespace magva::bench
