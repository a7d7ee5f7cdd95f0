#pragma once
// Densities whose means and sds are known, in closed form or by quadrature.
#include <memory>
#include <random>
#include <string>

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

}  // namespace magva::bench
