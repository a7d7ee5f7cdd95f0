// Sparse precisions and their factors against dense ones.
#include "sparse/factored_precision.hpp"

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include <cmath>

#include "support/targets.hpp"
#include "support/temporary_folder.hpp"

namespace magva {
namespace {

constexpr Index kGridSize = 90;
constexpr Index kGridWidth = 9;

/// A grid whose neighbours meet, and one coordinate that meets all.
struct GridPrecision : ::testing::Test {
  GridPrecision() {
    std::vector<Index> rows, columns;
    std::vector<double> entries;
    const auto add = [&](Index i, Index j, double value) {
      rows.push_back(i);
      columns.push_back(j);
      entries.push_back(value);
    };
    for (Index i = 0; i < kGridSize; ++i) {
      add(i, i, 6 + .01 * static_cast<double>(i));
      if (i + 1 < kGridSize - 1 && (i + 1) % kGridWidth != 0) add(i + 1, i, -1);
      if (i + kGridWidth < kGridSize - 1) add(i + kGridWidth, i, -1.2);
      if (i < kGridSize - 1) add(kGridSize - 1, i, .1);
    }
    structure = std::make_shared<const PrecisionStructure>(kGridSize, rows, columns);
    values = Eigen::Map<const Vector>(entries.data(), static_cast<Index>(entries.size()));
    sums = Matrix::Zero(kGridSize, 2);
    sums.col(0).head(40).setConstant(1.5);
    sums.col(1).segment(50, 30).setConstant(.3);
    precision = FactoredPrecision::make(structure, values, sums);
    dense = structure->times(values, Matrix::Identity(kGridSize, kGridSize)) + sums * sums.transpose();
    sigma = dense.llt().solve(Matrix::Identity(kGridSize, kGridSize));
  }

  std::shared_ptr<const PrecisionStructure> structure;
  Vector values;
  Matrix sums;
  std::shared_ptr<const FactoredPrecision> precision;
  Matrix dense, sigma;
};

TEST_F(GridPrecision, ProductsAndSolutionsAreThoseOfTheDenseMatrix) {
  ASSERT_TRUE(precision);
  const Matrix v = test::random_matrix(kGridSize, 3, 1);
  EXPECT_LT((precision->times(v) - dense * v).norm(), 1e-12 * (dense * v).norm());
  const Vector forms = v.cwiseProduct(dense * v).colwise().sum();
  EXPECT_LT((precision->squared_lengths(v) - forms).norm(), 1e-12 * forms.norm());
  EXPECT_LT((precision->solve(v) - sigma * v).norm(), 1e-12 * (sigma * v).norm());
  EXPECT_LT((precision->diagonal() - dense.diagonal()).norm(), 1e-12 * dense.diagonal().norm());
  EXPECT_NEAR(precision->log_determinant(), -2 * Matrix(dense.llt().matrixL()).diagonal().array().log().sum(),
              1e-10);
}

// Products of nearly full matrices with many columns are those of a dense one: against one column at a time.
TEST(PrecisionStructure, ManyColumnsOfANearlyFullMatrixAreThoseOfOneAtATime) {
  constexpr Index size = 40;
  std::vector<Index> rows, columns;
  for (Index j = 0; j < size; ++j)
    for (Index i = j; i < size; ++i)
      if ((i + 2 * j) % 5 != 0 || i == j) {
        rows.push_back(i);
        columns.push_back(j);
      }
  const PrecisionStructure structure(size, rows, columns);
  const Vector values = test::random_matrix(structure.entries(), 1, 4);
  const Matrix v = test::random_matrix(size, 50, 5);
  const Matrix together = structure.times(values, v);
  for (Index s = 0; s < v.cols(); ++s)
    EXPECT_LT((together.col(s) - structure.times(values, v.col(s))).norm(), 1e-13 * v.norm());
  const Vector forms = v.cwiseProduct(together).colwise().sum();
  EXPECT_LT((structure.squared_lengths(values, v) - forms).norm(), 1e-13 * v.squaredNorm());
}

TEST_F(GridPrecision, SelectedInversionGivesTheVariances) {
  EXPECT_LT((precision->variances() - sigma.diagonal()).norm(), 1e-12 * sigma.diagonal().norm());
}

TEST_F(GridPrecision, DrawsHaveTheCovarianceAndDoNotDependOnTheirNumber) {
  const Index size = precision->noise_size();
  const Matrix root = precision->root_times(Matrix::Identity(size, size));
  EXPECT_LT((root * root.transpose() - sigma).norm(), 1e-12 * sigma.norm());
  const Matrix noise = test::random_matrix(size, 4, 2);
  EXPECT_LT((precision->root_times(noise).col(3) - precision->root_times(noise.col(3)).col(0)).norm(), 1e-14);
}

TEST_F(GridPrecision, ScalesAreThoseOfTheCovariance) {
  const Vector scale = test::random_matrix(kGridSize, 1, 3).cwiseAbs().array() + .5;
  const Matrix scaled = scale.asDiagonal() * sigma * scale.asDiagonal();
  const auto found = precision->scaled(scale);
  ASSERT_TRUE(found);
  EXPECT_LT((found->variances() - scaled.diagonal()).norm(), 1e-12 * scaled.diagonal().norm());
  const Vector v = test::random_matrix(kGridSize, 1, 4);
  EXPECT_LT((found->solve(v) - scaled * v).norm(), 1e-12 * (scaled * v).norm());
}

TEST_F(GridPrecision, ComesBackFromAFileToTheBit) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "precision";
  {
    io::ChecksummedWriter out(path, "test", 1);
    precision->write(out);
    out.commit();
  }
  io::ChecksummedReader in(path, "test", 1);
  const auto read = FactoredPrecision::read(in);
  EXPECT_EQ(read->values(), values);
  EXPECT_EQ(read->sums(), sums);
  EXPECT_EQ(read->log_determinant(), precision->log_determinant());
  EXPECT_EQ(read->variances(), precision->variances());
}

TEST_F(GridPrecision, IsRefusedWhereItIsNotPositiveDefinite) {
  EXPECT_FALSE(FactoredPrecision::make(structure, -values, Matrix(kGridSize, 0)));
}

}  // namespace
}  // namespace magva
