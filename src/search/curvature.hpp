#pragma once
// The curvature of the log density at a point, by differences of gradients.
#include <optional>

#include "core/evaluator.hpp"
#include "search/mode_search.hpp"
#include "sparse/hessian_pattern.hpp"

namespace magva {

/// Largest m with a dense curvature: m^2 numbers and m gradients.
inline constexpr Index kDenseDimension = 2000;
/// The first difference, relative to max(1, |theta_i|).
inline constexpr double kFirstDifference = 1e-4;

/// -Hessian of the log density, dense and symmetric. Steps adapt to each coordinate's own scale, so that
/// scales may be many powers of ten apart. Nothing where the gradients around the point are not finite.
std::optional<Matrix> dense_curvature(Evaluator& evaluator, const PathPoint& at);
/// The same at the entries of a pattern, by a few differences instead of m.
std::optional<Vector> sparse_curvature(Evaluator& evaluator, const PathPoint& at,
                                       const HessianPattern& pattern);

/// The nearest curvature of a proper Gaussian: in coordinates with a unit diagonal, negative eigenvalues
/// change their sign and those below a floor are raised to it; where m is large, something is added to the
/// diagonal.
Matrix positive_part(ConstMatrixRef curvature);

/// What can be had of the curvature without a dense matrix, for large m.
struct CurvatureSketch {
  Vector diagonal;    ///< of -Hessian, positive
  Vector values;      ///< smallest eigenvalues found of D^-1/2 (-Hessian) D^-1/2, D the diagonal, ascending
  Matrix directions;  ///< their eigenvectors times D^-1/2, a column each
};

/// The diagonal by Hutchinson's estimator, the eigenvectors by Lanczos iteration from a random start, each
/// with the help of the other.
CurvatureSketch sketch_curvature(Evaluator& evaluator, const PathPoint& at, Index count, std::uint64_t seed);

}  // namespace magva
