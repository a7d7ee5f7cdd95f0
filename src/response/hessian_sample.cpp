#include "response/hessian_sample.hpp"

#include <algorithm>

#include "response/balanced_noise.hpp"

namespace magva {

namespace {

/// Of a difference of gradients, in posterior sds: its error is this share of the third derivatives, and
/// gradients to 1e-6 leave Hessians to 1e-3.
constexpr double kStep = 1e-3;
/// Columns that are evaluated together, about.
constexpr Index kColumnsAtOnce = 256;

/// For each of these pairs and each of its two signs: the draw itself, then steps along every coordinate.
Matrix stencil(const RootedGaussian& at, ConstMatrixRef noise) {
  const Index m = at.mean.size();
  Matrix theta(m, 2 * (m + 1) * noise.cols());
  Index column = 0;
  for (Index s = 0; s < noise.cols(); ++s)
    for (const double sign : {1., -1.}) {
      const Vector draw = at.mean + sign * (at.root * noise.col(s));
      theta.middleCols(column, m + 1).colwise() = draw;
      theta.middleCols(column + 1, m) += sign * kStep * at.root;
      column += m + 1;
    }
  return theta;
}

/// I + Hessian at a draw, from the gradients of its part of the stencil.
Matrix hessian_excess(ConstMatrixRef gradient, double sign) {
  const Index m = gradient.rows();
  const Matrix slopes = (gradient.rightCols(m).colwise() - gradient.col(0)) / (sign * kStep);
  return Matrix::Identity(m, m) + .5 * (slopes + slopes.transpose());
}

}  // namespace

std::int64_t sample_cost(Index dimension, Index pairs) { return 2 * (dimension + 1) * pairs; }

std::optional<HessianSample> sample_hessians(Evaluator& evaluator, const RootedGaussian& at, Index pairs,
                                             std::uint64_t seed) {
  const Index m = at.mean.size();
  HessianSample out{balanced_noise(m, pairs, seed), {}, {}, Matrix::Zero(m, m), Vector::Zero(m)};
  const Index pairs_at_once = std::max<Index>(1, kColumnsAtOnce / (2 * (m + 1)));
  for (Index first = 0; first < pairs; first += pairs_at_once) {
    const Index count = std::min(pairs_at_once, pairs - first);
    const Matrix theta = stencil(at, out.noise.middleCols(first, count));
    Vector log_density(theta.cols());
    Matrix gradient(m, theta.cols());
    evaluator.evaluate(theta, log_density, gradient);
    if (!log_density.allFinite()) return std::nullopt;
    const Matrix white = at.root.transpose() * gradient;
    for (Index s = 0; s < count; ++s) {
      const auto above = white.middleCols(2 * s * (m + 1), m + 1);
      const auto below = white.middleCols((2 * s + 1) * (m + 1), m + 1);
      const Matrix d_above = hessian_excess(above, 1);
      const Matrix d_below = hessian_excess(below, -1);
      out.even.push_back(.5 * (d_above + d_below));
      out.odd.push_back(.5 * (d_above - d_below));
      out.mean += out.even.back() / static_cast<double>(pairs);
      out.gradient += .5 * (above.col(0) + below.col(0)) / static_cast<double>(pairs);
    }
  }
  for (Matrix& even : out.even) even -= out.mean;
  return out;
}

}  // namespace magva
