#pragma once
// A posterior whose best Gaussian is known, or can be computed with far more effort than a fit takes.
#include <memory>
#include <string>
#include <vector>

#include "glm.hpp"

namespace magva::bench {

class Target {
 public:
  virtual ~Target() = default;
  virtual const Model& model() const = 0;
  /// The same posterior with the engine's own expectations; null if it has none.
  virtual const Model* exact_model() const { return nullptr; }
  virtual double elbo(const Gaussian& q) const = 0;
  /// The ELBO of the best Gaussian of that rank (m: full rank): the highest maximum that ascents from `found`
  /// and from places of its own reach.
  virtual double best(Index rank, const std::vector<Gaussian>& found) const = 0;
};

/// ELBO without draws.
std::unique_ptr<Target> exact_target(Glm glm);
/// The same where m is too large for a dense curvature; low rank only.
std::unique_ptr<Target> wide_target(Glm glm);
/// A Gaussian: the best ELBO is 0 for its own rank or more, and known for rank 0.
std::unique_ptr<Target> gaussian_target(Gaussian posterior);
/// ELBO from many fixed draws, the same for all Gaussians.
std::unique_ptr<Target> sampled_target(std::unique_ptr<Model> model);

}  // namespace magva::bench
