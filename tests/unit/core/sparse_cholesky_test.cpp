// Sparse factors, solutions and inverses against dense ones, on patterns as group effects have them.
#include "core/sparse_cholesky.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <random>
#include <set>

namespace magva {
namespace {

struct SparseMatrixPair {
  BlockPattern pattern;
  Matrix dense;  // blocks in the pattern's order
  std::vector<Index> first;
};

SparseMatrixPair random_matrix(BlockPattern pattern, std::uint64_t seed) {
  SparseMatrixPair out{std::move(pattern), {}, {}};
  Index size = 0;
  for (const Index block : out.pattern.sizes) {
    out.first.push_back(size);
    size += block;
  }
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  out.dense = Matrix::Zero(size, size);
  const auto fill = [&](std::size_t r, std::size_t c) {
    for (Index i = 0; i < out.pattern.sizes[r]; ++i)
      for (Index j = 0; j < out.pattern.sizes[c]; ++j) {
        const double value = normal(generator);
        out.dense(out.first[r] + i, out.first[c] + j) = value;
        out.dense(out.first[c] + j, out.first[r] + i) = value;
      }
  };
  for (std::size_t b = 0; b < out.pattern.sizes.size(); ++b) fill(b, b);
  for (const auto& [r, c] : out.pattern.below) fill(static_cast<std::size_t>(r), static_cast<std::size_t>(c));
  for (Index i = 0; i < size; ++i) out.dense(i, i) = out.dense.row(i).cwiseAbs().sum() + 1;
  return out;
}

AlignedNumbers scatter(const SparseMatrixPair& matrix, const SparseCholesky& cholesky) {
  AlignedNumbers values(static_cast<std::size_t>(cholesky.storage()), 0.0);
  const auto put = [&](const BlockPlace& place, std::size_t r, std::size_t c) {
    for (Index i = 0; i < matrix.pattern.sizes[r]; ++i)
      for (Index j = 0; j < matrix.pattern.sizes[c]; ++j) {
        const Index row = place.transposed ? j : i, column = place.transposed ? i : j;
        values[static_cast<std::size_t>(place.offset + column * place.stride + row)] =
            matrix.dense(matrix.first[r] + i, matrix.first[c] + j);
      }
  };
  for (std::size_t b = 0; b < matrix.pattern.sizes.size(); ++b)
    put(cholesky.diagonal(static_cast<Index>(b)), b, b);
  for (std::size_t k = 0; k < matrix.pattern.below.size(); ++k) {
    const auto& [r, c] = matrix.pattern.below[k];
    put(cholesky.below(static_cast<Index>(k)), static_cast<std::size_t>(r), static_cast<std::size_t>(c));
  }
  return values;
}

void expect_block(const SparseMatrixPair& matrix, const Matrix& dense, const AlignedNumbers& values,
                  const BlockPlace& place, std::size_t r, std::size_t c) {
  for (Index i = 0; i < matrix.pattern.sizes[r]; ++i)
    for (Index j = 0; j < matrix.pattern.sizes[c]; ++j) {
      const Index row = place.transposed ? j : i, column = place.transposed ? i : j;
      EXPECT_NEAR(values[static_cast<std::size_t>(place.offset + column * place.stride + row)],
                  dense(matrix.first[r] + i, matrix.first[c] + j), 1e-12);
    }
}

void expect_like_dense(const SparseMatrixPair& matrix) {
  const SparseCholesky cholesky(matrix.pattern);
  FrontStack stack = cholesky.make_stack();
  AlignedNumbers factor = scatter(matrix, cholesky);
  ASSERT_TRUE(cholesky.factorise(factor, stack));
  const Matrix inverse = matrix.dense.inverse();
  const Eigen::LLT<Matrix> dense(matrix.dense);
  const double log_determinant = 2 * Matrix(dense.matrixL()).diagonal().array().log().sum();
  EXPECT_NEAR(cholesky.log_determinant(factor), log_determinant, 1e-9 * std::abs(log_determinant) + 1e-9);

  const Vector b = Vector::LinSpaced(cholesky.size(), -1, 2);
  Vector permuted(cholesky.size());
  for (std::size_t k = 0; k < matrix.first.size(); ++k)
    permuted.segment(cholesky.first(static_cast<Index>(k)), matrix.pattern.sizes[k]) =
        b.segment(matrix.first[k], matrix.pattern.sizes[k]);
  cholesky.solve_lower(factor, permuted);
  EXPECT_NEAR(permuted.squaredNorm(), b.dot(inverse * b), 1e-10 * permuted.squaredNorm());
  cholesky.solve_upper(factor, permuted);
  const Vector solution = inverse * b;
  for (std::size_t k = 0; k < matrix.first.size(); ++k)
    EXPECT_LT((permuted.segment(cholesky.first(static_cast<Index>(k)), matrix.pattern.sizes[k]) -
               solution.segment(matrix.first[k], matrix.pattern.sizes[k]))
                  .cwiseAbs()
                  .maxCoeff(),
              1e-11);

  AlignedNumbers selected(factor.size());
  cholesky.invert(factor, selected, stack);
  for (std::size_t k = 0; k < matrix.first.size(); ++k)
    expect_block(matrix, inverse, selected, cholesky.diagonal(static_cast<Index>(k)), k, k);
  for (std::size_t k = 0; k < matrix.pattern.below.size(); ++k) {
    const auto& [r, c] = matrix.pattern.below[k];
    expect_block(matrix, inverse, selected, cholesky.below(static_cast<Index>(k)),
                 static_cast<std::size_t>(r), static_cast<std::size_t>(c));
  }
}

// Two crossed factors and, perhaps, a last block that touches all.
BlockPattern crossed(std::int32_t first, std::int32_t second, Index effects, std::size_t pairs, Index last) {
  BlockPattern pattern;
  pattern.sizes.assign(static_cast<std::size_t>(first), effects);
  pattern.sizes.insert(pattern.sizes.end(), static_cast<std::size_t>(second), 1);
  std::mt19937_64 generator(7);
  std::set<std::pair<std::int32_t, std::int32_t>> seen;
  while (seen.size() < pairs)
    seen.insert({first + static_cast<std::int32_t>(generator() % static_cast<std::uint64_t>(second)),
                 static_cast<std::int32_t>(generator() % static_cast<std::uint64_t>(first))});
  pattern.below.assign(seen.begin(), seen.end());
  if (last > 0) {
    for (std::int32_t b = 0; b < first + second; ++b) pattern.below.emplace_back(first + second, b);
    pattern.sizes.push_back(last);
    pattern.pinned = 1;
  }
  return pattern;
}

TEST(SparseCholesky, CrossedFactorsLikeDense) {
  expect_like_dense(random_matrix(crossed(40, 15, 1, 200, 3), 1));
  expect_like_dense(random_matrix(crossed(60, 50, 2, 150, 0), 2));
  expect_like_dense(random_matrix(crossed(30, 30, 3, 40, 12), 3));
}

TEST(SparseCholesky, FrontsThatAreCutLikeDense) {
  expect_like_dense(random_matrix(crossed(100, 230, 1, 4000, 5), 4));
}

TEST(SparseCholesky, OneFactorAndNothingElse) {
  expect_like_dense(random_matrix({{2, 2, 2, 2, 1}, {}, 0}, 5));
  expect_like_dense(random_matrix({{1, 1, 1, 4}, {{3, 0}, {3, 1}, {3, 2}}, 1}, 6));
  expect_like_dense(random_matrix({{9}, {}, 1}, 7));
}

TEST(SparseCholesky, SaysThatAMatrixIsNotPositiveDefinite) {
  for (const Index size : {1, 12}) {
    SparseMatrixPair matrix = random_matrix({{size, size}, {{1, 0}}, 0}, 8);
    matrix.dense(0, 0) = -1;
    const SparseCholesky cholesky(matrix.pattern);
    FrontStack stack = cholesky.make_stack();
    AlignedNumbers values = scatter(matrix, cholesky);
    EXPECT_FALSE(cholesky.factorise(values, stack));
  }
}

}  // namespace
}  // namespace magva
