// A Gaussian with a sparse precision as a posterior, against the dense one with the same covariance.
#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include <cmath>

#include "magva/error.hpp"
#include "magva/posterior.hpp"
#include "sparse/factored_precision.hpp"
#include "support/targets.hpp"
#include "support/temporary_folder.hpp"

namespace magva {
namespace {

constexpr Index kChainSize = 60;

/// A chain with one coordinate that meets all, and a sum of some.
std::shared_ptr<const FactoredPrecision> chain_precision(double own) {
  std::vector<Index> rows, columns;
  std::vector<double> entries;
  const auto add = [&](Index i, Index j, double value) {
    rows.push_back(i);
    columns.push_back(j);
    entries.push_back(value);
  };
  for (Index i = 0; i < kChainSize; ++i) {
    add(i, i, own + .02 * static_cast<double>(i));
    if (i + 1 < kChainSize - 1) add(i + 1, i, -1.5);
    if (i < kChainSize - 1) add(kChainSize - 1, i, .2);
  }
  Matrix sums = Matrix::Zero(kChainSize, 1);
  sums.col(0).segment(5, 20).setConstant(.7);
  return FactoredPrecision::make(std::make_shared<const PrecisionStructure>(kChainSize, rows, columns),
                                 Eigen::Map<const Vector>(entries.data(), static_cast<Index>(entries.size())),
                                 sums);
}

struct SparsePosterior : ::testing::Test {
  static Gaussian dense_form(const Gaussian& q) {
    const Matrix sigma = q.times(Matrix::Identity(kChainSize, kChainSize));
    return Gaussian::dense(q.mean(), sigma.llt().matrixL());
  }

  Vector mean = test::random_matrix(kChainSize, 1, 1);
  Gaussian sparse = Gaussian::sparse(mean, chain_precision(6));
  Gaussian dense = dense_form(sparse);
  Matrix sigma = dense.factors() * dense.factors().transpose();
};

TEST_F(SparsePosterior, SaysWhatItIs) {
  EXPECT_EQ(sparse.kind(), GaussianKind::kSparsePrecision);
  EXPECT_STREQ(to_string(sparse.kind()), "sparse-precision");
  EXPECT_EQ(sparse.rank(), kChainSize);
  EXPECT_TRUE(sparse.is_full_rank());
  EXPECT_FALSE(sparse.is_dense());
  EXPECT_EQ(sparse.factor_shares().size(), 0);
  EXPECT_THROW((void)Gaussian::sparse(Vector::Zero(3), chain_precision(6)), UsageError);
}

TEST_F(SparsePosterior, MomentsAndDensitiesAreThoseOfTheDenseOne) {
  EXPECT_LT((sparse.sd() - dense.sd()).norm(), 1e-12);
  EXPECT_LT((sparse.covariance_row(7) - dense.covariance_row(7)).norm(), 1e-12);
  EXPECT_NEAR(sparse.covariance(7, 8), sigma(7, 8), 1e-12);
  EXPECT_NEAR(sparse.correlation(7, 8), sigma(7, 8) / std::sqrt(sigma(7, 7) * sigma(8, 8)), 1e-12);
  EXPECT_NEAR(sparse.log_determinant(), dense.log_determinant(), 1e-10);
  EXPECT_LT((sparse.precision_diagonal() - dense.precision_diagonal()).norm(), 1e-9);
  const Matrix theta = test::random_matrix(kChainSize, 4, 2);
  EXPECT_LT((sparse.log_density(theta) - dense.log_density(theta)).norm(), 1e-9);
  EXPECT_LT((sparse.solve(theta) - dense.solve(theta)).norm(), 1e-9);
  const Vector at{{.05, .5, .95}};
  EXPECT_LT((sparse.quantiles(at) - dense.quantiles(at)).norm(), 1e-11);
}

// The mean of n draws has the standard error sd / sqrt(n), the log of an sd 1 / sqrt(2 n); five of them for
// the worst of 60. And draw j does not depend on how many there are.
TEST_F(SparsePosterior, DrawsHaveItsMoments) {
  constexpr Index kDraws = 20'000;
  const Matrix draws = sparse.draws(kDraws, 3);
  EXPECT_EQ(sparse.draws(5, 3).col(4), draws.col(4));
  const Vector average = draws.rowwise().mean();
  const Vector sd = ((draws.colwise() - average).rowwise().squaredNorm() / kDraws).cwiseSqrt();
  EXPECT_LT((average - mean).cwiseQuotient(sparse.sd()).cwiseAbs().maxCoeff(), 5 / std::sqrt(kDraws));
  EXPECT_LT(sd.cwiseQuotient(sparse.sd()).array().log().abs().maxCoeff(), 5 / std::sqrt(2. * kDraws));
}

TEST_F(SparsePosterior, DivergencesAreThoseOfTheDenseOnes) {
  const Gaussian other = Gaussian::sparse(test::random_matrix(kChainSize, 1, 4), chain_precision(8));
  const Gaussian other_dense = dense_form(other);
  const double wanted = kl_divergence(dense, other_dense);
  EXPECT_NEAR(kl_divergence(sparse, other), wanted, 1e-9 * wanted);        // the same pattern
  EXPECT_NEAR(kl_divergence(sparse, other_dense), wanted, 1e-9 * wanted);  // column by column
  EXPECT_NEAR(kl_divergence(dense, other), wanted, 1e-9 * wanted);
  const Gaussian low =
      Gaussian::low_rank(mean, test::random_matrix(kChainSize, 2, 5), Vector::Ones(kChainSize));
  EXPECT_NEAR(kl_divergence(low, sparse), kl_divergence(low, dense), 1e-8);
  EXPECT_NEAR(kl_divergence(sparse, low), kl_divergence(dense, low), 1e-8);
}

TEST_F(SparsePosterior, TransformedScalesAndShifts) {
  const Vector scale = test::random_matrix(kChainSize, 1, 6).cwiseAbs().array() + .5;
  const Gaussian moved = sparse.transformed(Vector::Ones(kChainSize), scale);
  EXPECT_TRUE(moved.is_sparse());
  EXPECT_LT((moved.mean() - (Vector::Ones(kChainSize) + scale.cwiseProduct(mean))).norm(), 1e-12);
  EXPECT_LT((moved.sd() - scale.cwiseProduct(dense.sd())).norm(), 1e-11);
}

TEST_F(SparsePosterior, ComesBackFromAFileToTheBit) {
  const test::TemporaryFolder folder;
  std::vector<std::string> names;
  for (Index i = 0; i < kChainSize; ++i) names.push_back("x" + std::to_string(i));
  sparse.save(folder.path() / "posterior", names);
  const SavedPosterior saved = load_posterior(folder.path() / "posterior");
  EXPECT_TRUE(saved.gaussian.is_sparse());
  EXPECT_EQ(saved.names, names);
  EXPECT_EQ(saved.gaussian.mean(), mean);
  EXPECT_EQ(saved.gaussian.sd(), sparse.sd());
  EXPECT_EQ(saved.gaussian.draws(3, 7), sparse.draws(3, 7));
}

}  // namespace
}  // namespace magva
