#include <limits>

#include "core/huge_pages.hpp"
#include "core/noise.hpp"
#include "manifold/euclidean.hpp"
#include "manifold/fixed_rank.hpp"
#include "manifold/grassmann.hpp"
#include "manifold/stiefel.hpp"

namespace magva {

namespace {

Matrix random_normal(Index rows, Index cols, std::uint64_t seed) {
  Matrix out = huge_page_matrix(rows, cols);
  Noise(seed, NoiseStream::kRandomPoint).fill(0, 0, out);
  return out;
}

void add(ConstMatrixRef x, ConstMatrixRef u, MatrixRef out, TallSkinny& kernel) {
  sweep(x.rows(), kernel.workers(), [&](Range r, Index) {
    out.middleRows(r.begin, r.size()) = x.middleRows(r.begin, r.size()) + u.middleRows(r.begin, r.size());
  });
}

void copy(ConstMatrixRef v, MatrixRef out) {
  if (out.data() != v.data()) out = v;
}

void clear_upper(MatrixRef x) {
  for (Index j = 1; j < x.cols(); ++j) x.col(j).head(std::min(j, x.rows())).setZero();
}

}  // namespace

void Euclidean::project(ConstMatrixRef, ConstMatrixRef v, MatrixRef out, TallSkinny&) const { copy(v, out); }

void Euclidean::retract(ConstMatrixRef x, ConstMatrixRef u, MatrixRef out, TallSkinny& kernel) const {
  add(x, u, out, kernel);
}

Matrix Euclidean::random_point(Index rows, Index cols, std::uint64_t seed) const {
  return random_normal(rows, cols, seed);
}

void LowerTrapezoidal::project(ConstMatrixRef, ConstMatrixRef v, MatrixRef out, TallSkinny&) const {
  copy(v, out);
  clear_upper(out);
}

void LowerTrapezoidal::retract(ConstMatrixRef x, ConstMatrixRef u, MatrixRef out, TallSkinny& kernel) const {
  add(x, u, out, kernel);
}

void LowerTrapezoidal::project_panel(const MutablePanel& v, Range rows) const {
  for (Index j = rows.begin + 1; j < v.cols; ++j)
    std::fill_n(v.col(j), std::min(j, rows.end) - rows.begin, 0.);
}

Matrix LowerTrapezoidal::random_point(Index rows, Index cols, std::uint64_t seed) const {
  Matrix out = random_normal(rows, cols, seed);
  clear_upper(out);
  return out;
}

double LowerTrapezoidal::violation(ConstMatrixRef x, TallSkinny&) const {
  double sum = 0;
  for (Index j = 1; j < x.cols(); ++j) sum += x.col(j).head(std::min(j, x.rows())).squaredNorm();
  return std::sqrt(sum);
}

void Stiefel::normal_part(MatrixRef inner, ConstMatrixRef, TallSkinny&) const {
  for (Index j = 0; j < inner.cols(); ++j)
    for (Index i = 0; i < j; ++i) inner(i, j) = inner(j, i) = (inner(i, j) + inner(j, i)) / 2;
}

void Stiefel::project(ConstMatrixRef x, ConstMatrixRef v, MatrixRef out, TallSkinny& kernel) const {
  if (x.cols() == 0) return;
  auto sym = kernel.small(x.cols());
  kernel.gram(x, v, sym);
  normal_part(sym, sym, kernel);
  copy(v, out);
  kernel.multiply(-1, x, sym, 1, out);
}

void Stiefel::retract(ConstMatrixRef x, ConstMatrixRef u, MatrixRef out, TallSkinny& kernel) const {
  if (x.cols() == 0) return;
  add(x, u, out, kernel);
  kernel.polar(out, out);
}

Matrix Stiefel::random_point(Index rows, Index cols, std::uint64_t seed) const {
  Matrix out = random_normal(rows, cols, seed);
  Workers workers;
  TallSkinny kernel(rows, cols, workers);
  kernel.polar(out, out);
  return out;
}

double Stiefel::violation(ConstMatrixRef x, TallSkinny& kernel) const {
  if (x.cols() == 0) return 0;
  auto gram = kernel.small(x.cols());
  kernel.gram(x, x, gram);
  gram.diagonal().array() -= 1;
  return gram.norm();
}

void Grassmann::project(ConstMatrixRef x, ConstMatrixRef v, MatrixRef out, TallSkinny& kernel) const {
  if (x.cols() == 0) return;
  auto inner = kernel.small(x.cols());
  kernel.gram(x, v, inner);
  copy(v, out);
  kernel.multiply(-1, x, inner, 1, out);
}

void FixedRank::normal_part(MatrixRef omega, ConstMatrixRef gram, TallSkinny& kernel) const {
  const Index p = gram.cols();
  const SymmetricEigen& solved = kernel.eigen(gram);
  const auto basis = solved.vectors();
  const auto values = solved.values();
  for (Index j = 0; j < p; ++j) {
    omega(j, j) = 0;
    for (Index i = 0; i < j; ++i) {
      omega(i, j) -= omega(j, i);
      omega(j, i) = -omega(i, j);
    }
  }
  auto rotated = kernel.other_small(p);
  rotated.noalias() = basis.transpose().lazyProduct(omega);
  omega.noalias() = rotated.lazyProduct(basis);
  const double floor = std::numeric_limits<double>::epsilon() * values(p - 1);
  for (Index j = 0; j < p; ++j)
    for (Index i = 0; i < p; ++i) {
      const double sum = values(i) + values(j);
      omega(i, j) = sum > floor ? omega(i, j) / sum : 0;
    }
  rotated.noalias() = basis.lazyProduct(omega);
  omega.noalias() = rotated.lazyProduct(basis.transpose());
}

void FixedRank::project(ConstMatrixRef x, ConstMatrixRef v, MatrixRef out, TallSkinny& kernel) const {
  const Index p = x.cols();
  if (p == 0) return;
  auto gram = kernel.third_small(p);
  auto omega = kernel.small(p);
  kernel.gram(x, x, gram);
  kernel.gram(x, v, omega);
  normal_part(omega, gram, kernel);
  copy(v, out);
  kernel.multiply(-1, x, omega, 1, out);
}

void FixedRank::retract(ConstMatrixRef x, ConstMatrixRef u, MatrixRef out, TallSkinny& kernel) const {
  add(x, u, out, kernel);
}

Matrix FixedRank::random_point(Index rows, Index cols, std::uint64_t seed) const {
  return random_normal(rows, cols, seed);
}

double FixedRank::violation(ConstMatrixRef x, TallSkinny& kernel) const {
  const Index p = x.cols();
  if (p == 0) return 0;
  auto gram = kernel.small(p);
  kernel.gram(x, x, gram);
  const auto values = kernel.eigen(gram).values();
  return values(0) > std::numeric_limits<double>::epsilon() * values(p - 1) ? 0 : 1;
}

}  // namespace magva
