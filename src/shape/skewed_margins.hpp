#pragma once
// A Gaussian whose margins have given means, sds and skewness: an implicit copula with sinh-arcsinh margins
// (Smith, Loaiza-Maya & Nott 2020).
#include "shape/shaped_gaussian.hpp"

namespace magva {

/// One entry for each coordinate.
struct Margins {
  Vector mean, sd;
  Vector skewness;  ///< beyond what such a transform can have, about 3.5, that
};

/// With the correlations of a Gaussian's coordinates before they are transformed. Works with dense matrices.
std::shared_ptr<const ShapedGaussian> with_margins(const Gaussian& copula, const Margins& margins);

}  // namespace magva
