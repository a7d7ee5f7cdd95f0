#pragma once
// Means and sds of a density: by quadrature, or by a long run of Hamiltonian Monte Carlo.
#include <functional>
#include <optional>
#include <random>

#include "known.hpp"

namespace magva::bench {

struct Moments {
  Vector mean, sd;
};

/// By the trapezoid rule over two or three parameters, in coordinates that are dense near the mode and reach
/// far out.
Moments integrate_on_grid(const Density& density, Index dimension);

/// The log density of one parameter t, up to a constant, with means and variances of all parameters given it.
using GivenOne = std::function<double(double t, Vector& mean, Vector& variance)>;

/// By the trapezoid rule over t, on a range that has all mass.
Moments integrate_over_one(const GivenOne& given, Index dimension, double first, double last);

/// The same, with a quantity of t, which is this coordinate of theta.
Moments integrate_over_one(const GivenOne& given, Index dimension, double first, double last,
                           KnownQuantity& quantity);

/// By four chains from the mode. Nothing where their standard errors are above two hundredths of an sd for a
/// mean, and three for the log of an sd.
std::optional<Moments> sample_moments(const Density& density, Index dimension, std::mt19937_64& generator);

}  // namespace magva::bench
