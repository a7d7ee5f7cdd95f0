#pragma once
// Maps for tests: far from the identity, with random parameters.
#include "magva/posterior.hpp"
#include "shape/shape_map.hpp"
#include "support/targets.hpp"

namespace magva::test {

inline Gaussian random_gaussian(Index m, std::uint64_t seed) {
  Matrix root = .4 * random_matrix(m, m, seed);
  root.diagonal().array() += 1.2;
  return Gaussian::dense(random_matrix(m, 1, seed + 1), root.triangularView<Eigen::Lower>());
}

/// Moves all parameters of a map by random steps of about this size.
inline ShapeMap perturbed(ShapeMap map, double size, std::uint64_t seed) {
  for (ShapeStage& stage : map.stages())
    for (auto& layer : stage.layers) {
      for (LayerParameter& parameter : layer->parameters()) {
        const Matrix step = random_matrix(parameter.value.rows(), parameter.value.cols(), seed++);
        if (parameter.manifold == ManifoldKind::kEuclidean) parameter.value += size * step;
      }
      layer->constrain();
    }
  return map;
}

inline ShapeMap random_skewed(Index m, std::uint64_t seed) {
  return perturbed(ShapeMap::skewed(random_gaussian(m, seed)), .3, seed + 100);
}

inline ShapeMap random_flow(Index m, int layers, std::uint64_t seed) {
  return perturbed(ShapeMap::flow(random_gaussian(m, seed), layers, seed), .5, seed + 100);
}

}  // namespace magva::test
