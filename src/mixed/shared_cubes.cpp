// Laplace's method to second order: what rows that share a group add to it (see laplace.cpp).
#include <Eigen/Cholesky>

#include "mixed/block_system.hpp"

namespace magva::mixed {

namespace {

std::vector<std::vector<Index>> rows_by_group(const GroupTerm& term) {
  std::vector<std::vector<Index>> rows(static_cast<std::size_t>(term.level_count()));
  for (std::size_t i = 0; i < term.group.size(); ++i)
    rows[static_cast<std::size_t>(term.group[i])].push_back(static_cast<Index>(i));
  return rows;
}

/// sum += sum_k size_k g_k g_k g_k over the columns of g, and the square of what was added.
double add_cubes(const Matrix& g, const double* size, Vector& sum) {
  const Index n = g.rows();
  double square = 0;
  for (Index k = 0; k < g.cols(); ++k) {
    double* to = sum.data();
    for (Index a = 0; a < n; ++a)
      for (Index b = 0; b < n; ++b)
        for (Index c = 0; c < n; ++c) *to++ += size[k] * g(a, k) * g(b, k) * g(c, k);
    for (Index l = 0; l < g.cols(); ++l) {
      double product = 0;
      for (Index a = 0; a < n; ++a) product += g(a, k) * g(a, l);
      square += size[k] * size[l] * product * product * product;
    }
  }
  return square;
}

}  // namespace

// A single effect: of each group sums of w f^2, t f^3 and t^2 f^6 do.
double BlockSystem::shared_cubes_of_single(std::size_t k, const Scales& scales, ConstVectorRef weights,
                                           ConstVectorRef t) const {
  const TermRows effects(term(k));
  const Index levels = term(k).level_count();
  Vector precision = Vector::Ones(levels), cubes = Vector::Zero(levels), squares = Vector::Zero(levels);
  for (Index i = 0; i < t.size(); ++i) {
    const Index g = effects.group[i];
    const double f = scales.term[k](0, 0) * *effects.of(i), cube = t(i) * f * f * f;
    precision(g) += weights(i) * f * f;
    cubes(g) += cube;
    squares(g) += cube * cube;
  }
  return ((cubes.array().square() - squares.array()) / precision.array().cube()).sum();
}

// What the effects of a group multiply in its rows, a matrix for each predictor: B' f.
std::vector<Matrix> BlockSystem::multipliers(std::size_t t, const Scales& scales,
                                             const std::vector<Index>& rows) const {
  const TermRows effects(term(t));
  Matrix z(effects.count, static_cast<Index>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i)
    z.col(static_cast<Index>(i)) = Eigen::Map<const Vector>(effects.of(rows[i]), effects.count);
  std::vector<Matrix> out;
  for (std::size_t k = t; k < terms(); k += problem_.terms_each())
    out.emplace_back(scales.term[k].transpose() * z);
  return out;
}

namespace {

/// I + the sum over a group's rows of f W f'.
Matrix group_precision(const std::vector<Matrix>& f, const Matrix& weights) {
  const auto predictors = static_cast<Index>(f.size());
  const Index q = f[0].rows();
  Matrix out = Matrix::Identity(predictors * q, predictors * q);
  for (Index c = 0; c < predictors; ++c)
    for (Index d = 0; d <= c; ++d)
      out.block(c * q, d * q, q, q) += f[static_cast<std::size_t>(c)] *
                                       weights.col(pair_place(c, d)).asDiagonal() *
                                       f[static_cast<std::size_t>(d)].transpose();
  return out;
}

}  // namespace

// With C = R R' and g = R' B' f the products (g_i' g_j)^3 of all pairs add up to the square of the sum of all
// cubes g g g.
double BlockSystem::shared_cubes_of(std::size_t t, const Scales& scales, ConstMatrixRef weights,
                                    const ThirdDerivatives& thirds) const {
  const Index q = term(t).effect_count(), points = thirds.points(), all = problem_.predictors * q;
  Vector whole(all * all * all);
  Matrix g(all, points);
  double sum = 0;
  for (const std::vector<Index>& rows : rows_by_group(term(t))) {
    if (rows.empty()) continue;
    std::vector<Matrix> f = multipliers(t, scales, rows);
    const Eigen::LLT<Matrix> llt(group_precision(f, weights(rows, Eigen::all)));
    for (Index c = 0; c < problem_.predictors; ++c) {
      Matrix& own = f[static_cast<std::size_t>(c)];
      Matrix placed = Matrix::Zero(all, own.cols());
      placed.middleRows(c * q, q) = own;
      own = llt.matrixL().solve(placed);
    }
    whole.setZero();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      g.setZero();
      for (Index c = 0; c < problem_.predictors; ++c)
        g.noalias() += f[static_cast<std::size_t>(c)].col(static_cast<Index>(i)) *
                       thirds.direction.row(c).segment(rows[i] * points, points);
      sum -= add_cubes(g, thirds.size.col(rows[i]).data(), whole);
    }
    sum += whole.squaredNorm();
  }
  return sum;
}

double BlockSystem::shared_cubes(const Scales& scales, ConstMatrixRef weights,
                                 const ThirdDerivatives& thirds) const {
  double sum = 0;
  for (std::size_t t = 0; t < problem_.terms_each(); ++t)
    sum += thirds.points() * term(t).effect_count() == 1
               ? shared_cubes_of_single(t, scales, weights.col(0), thirds.size.row(0).transpose())
               : shared_cubes_of(t, scales, weights, thirds);
  return sum;
}

}  // namespace magva::mixed
