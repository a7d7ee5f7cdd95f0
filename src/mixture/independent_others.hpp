#pragma once
// The other parameters where, given the hyper-parameters, none depends on another, as in models with one
// level of groups. A gradient then shows a derivative of each one's own log density, whatever the others are,
// and gradients at the points of one Gauss-Hermite rule, all parameters moved at once, show all of these
// densities: expectations without noise, and the integral of each, however many there are. Sums over draws of
// thousands of log weights show neither.
#include <optional>
#include <vector>

#include "core/evaluator.hpp"
#include "sparse/hessian_pattern.hpp"

namespace magva {

/// Whether no two of the others are in one term of the Hessian.
bool independent_given(const HessianPattern& pattern, const std::vector<Index>& hyper_parameters);

/// These hyper-parameters and as many more as leave all others independent; nothing where that takes more
/// than `most`.
std::optional<std::vector<Index>> separating_set(const HessianPattern& pattern, std::vector<Index> hyper,
                                                 std::size_t most);

/// Of the others' independent normals, with means in theta.
struct OthersIntegrals {
  Vector gradient;   ///< expected, of all parameters
  Vector curvature;  ///< the expected -second derivative of each of the others; 1 for the hyper-parameters
  double elbo;       ///< of the others
  double missing;    ///< what the logarithm of their mass has beyond it
  double variance;   ///< of the log weights
  /// Their own means, less those of the normals, in sds of these; and their sds, as multiples of these.
  Vector shift, sd_ratio;
};

class OthersQuadrature {
 public:
  explicit OthersQuadrature(std::vector<Index> hyper_parameters);

  /// With these sds; those of the hyper-parameters do not matter. Nothing where a log density is not finite,
  /// or where the rule does not do: the densities are not near normal ones.
  std::optional<OthersIntegrals> at(Evaluator& evaluator, const Vector& theta, Vector sd) const;

 private:
  std::vector<Index> hyper_;
  Vector points_, weights_;
  /// Values of a function at the points, but for its expectation, from its derivatives there: by Hermite
  /// polynomials up to the rule's degree, and up to a lower one.
  Matrix integral_, rougher_integral_;
};

}  // namespace magva
