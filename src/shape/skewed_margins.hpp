#pragma once
// A Gaussian whose margins have given means, sds and shapes: an implicit copula with sinh-arcsinh margins
// (Smith, Loaiza-Maya & Nott 2020).
#include "shape/shaped_gaussian.hpp"

namespace magva {

/// One entry, or row, for each coordinate.
struct Margins {
  Vector mean, sd;
  Matrix bends;  ///< skewness s and tail t of the transform (sinh_arcsinh.hpp); 0 leaves a normal margin
};

/// The bends of margins that draws, one a column, ask for. 0 where by cross-validation, over four parts of
/// successive columns, they are no nearer than a normal margin is.
Matrix bends_of(const Matrix& draws);

/// With the correlations of a Gaussian's coordinates before they are transformed. Works with dense matrices.
std::shared_ptr<const ShapedGaussian> with_margins(const Gaussian& copula, const Margins& margins);

}  // namespace magva
