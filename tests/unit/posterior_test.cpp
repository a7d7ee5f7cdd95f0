#include "magva/posterior.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include <filesystem>
#include <fstream>

#include "magva/error.hpp"
#include "support/targets.hpp"
#include "support/temporary_folder.hpp"

namespace magva {
namespace {

Gaussian low_rank(Index m, Index p, std::uint64_t seed) {
  return Gaussian::low_rank(test::random_matrix(m, 1, seed), test::random_matrix(m, p, seed + 1),
                            test::random_matrix(m, 1, seed + 2).cwiseAbs().array() + .2);
}

Matrix covariance(const Gaussian& q) {
  Matrix sigma = q.factors() * q.factors().transpose();
  if (!q.is_dense()) sigma += Matrix(q.residual_sd().cwiseAbs2().asDiagonal());
  return sigma;
}

TEST(Gaussian, CanonicalFormKeepsTheCovarianceAndIdentifiesTheFactors) {
  const Matrix w = test::random_matrix(9, 3, 2);
  const Vector d = Vector::Ones(9);
  const Matrix rotation = test::random_matrix(3, 3, 5).householderQr().householderQ();
  const Gaussian a = Gaussian::low_rank(Vector::Zero(9), w, d);
  const Gaussian b = Gaussian::low_rank(Vector::Zero(9), w * rotation, d);
  EXPECT_LT((a.factors() * a.factors().transpose() - w * w.transpose()).norm(), 1e-12);
  EXPECT_LT((a.factors() - b.factors()).norm(), 1e-10);
  const Matrix gram = a.factors().transpose() * a.factors();
  EXPECT_LT(Matrix(gram.triangularView<Eigen::StrictlyUpper>()).norm(), 1e-12);
  EXPECT_GE(gram(0, 0), gram(1, 1));
  EXPECT_GE(gram(1, 1), gram(2, 2));
  EXPECT_LT(subspace_angles(a, b).maxCoeff(), 1e-7);
}

TEST(Gaussian, KeepsItsCorrectionInFilesAndUnderTransformations) {
  const Gaussian fitted = low_rank(5, 2, 1);
  EXPECT_EQ(&fitted.corrected(), &fitted);
  const Matrix wider = (covariance(fitted) + Matrix::Identity(5, 5)).llt().matrixL();
  const Gaussian q = fitted.with_correction(Gaussian::dense(fitted.mean(), wider));
  EXPECT_TRUE(q.has_correction());
  EXPECT_EQ(q.sd(), fitted.sd());
  EXPECT_GT((q.corrected().sd() - q.sd()).minCoeff(), .1);
  EXPECT_FALSE(q.without_correction().has_correction());
  EXPECT_THROW((void)fitted.with_correction(low_rank(6, 2, 7)), UsageError);
  EXPECT_THROW((void)fitted.with_correction(q), UsageError);

  const Gaussian scaled = q.transformed(Vector::Ones(5), Vector::Constant(5, 2.));
  EXPECT_LT((scaled.corrected().sd() - 2 * q.corrected().sd()).norm(), 1e-12);

  const test::TemporaryFolder folder;
  q.save(folder.path() / "posterior", {"a", "b", "c", "d", "e"});
  const SavedPosterior saved = load_posterior(folder.path() / "posterior");
  ASSERT_TRUE(saved.gaussian.has_correction());
  EXPECT_EQ(saved.gaussian.factors(), q.factors());
  EXPECT_EQ(saved.gaussian.corrected().factors(), q.corrected().factors());
  EXPECT_EQ(saved.names.size(), 5);
}

TEST(Gaussian, DivergenceAgreesWithItsDenseFormula) {
  const Gaussian low = low_rank(6, 2, 1);
  const Gaussian mean_field = low_rank(6, 0, 4);
  const Matrix root = Matrix(covariance(low_rank(6, 3, 9)).llt().matrixL());
  const Gaussian dense = Gaussian::dense(test::random_matrix(6, 1, 8), root);
  for (const Gaussian* a : {&low, &mean_field, &dense})
    for (const Gaussian* b : {&low, &mean_field, &dense}) {
      const Matrix sa = covariance(*a);
      const Matrix sb = covariance(*b);
      const Vector d = a->mean() - b->mean();
      const double expected = .5 * ((sb.inverse() * sa).trace() + d.dot(sb.inverse() * d) - 6 +
                                    std::log(sb.determinant() / sa.determinant()));
      EXPECT_NEAR(kl_divergence(*a, *b), expected, 1e-9 * (1 + expected));
    }
}

/// Narrower than its scales in one direction, wider in another.
Gaussian spiked(Index m, std::uint64_t seed) {
  const Matrix directions =
      Matrix(test::random_matrix(m, 3, seed).householderQr().householderQ() * Matrix::Identity(m, 3));
  return Gaussian::spiked(test::random_matrix(m, 1, seed + 1),
                          test::random_matrix(m, 1, seed + 2).cwiseAbs().array() + .2, directions,
                          Vector{{-.9, -.3, 1.5}});
}

TEST(Gaussian, SpikedAgreesWithItsDenseForm) {
  const Gaussian q = spiked(7, 31);
  const Vector d = q.residual_sd();
  const Matrix sigma =
      q.factors() * q.weights().asDiagonal() * q.factors().transpose() + Matrix(d.cwiseAbs2().asDiagonal());
  const Gaussian dense = Gaussian::dense(q.mean(), sigma.llt().matrixL());
  const Gaussian other = low_rank(7, 2, 35);
  const Matrix v = test::random_matrix(7, 3, 37);
  EXPECT_LT((q.times(v) - sigma * v).norm(), 1e-12);
  EXPECT_LT((other.times(v) - covariance(other) * v).norm(), 1e-12);
  EXPECT_LT((q.solve(v) - dense.solve(v)).norm(), 1e-10);
  EXPECT_LT((q.sd() - dense.sd()).norm(), 1e-12);
  EXPECT_LT((q.covariance_row(4) - sigma.col(4)).norm(), 1e-12);
  EXPECT_NEAR(q.covariance(2, 5), sigma(2, 5), 1e-12);
  EXPECT_NEAR(q.log_determinant(), dense.log_determinant(), 1e-11);
  EXPECT_LT((q.precision_diagonal() - dense.precision_diagonal()).norm(), 1e-10);
  EXPECT_LT((q.log_density(v) - dense.log_density(v)).norm(), 1e-10);
  EXPECT_NEAR(kl_divergence(q, other), kl_divergence(dense, other), 1e-10);
  EXPECT_NEAR(kl_divergence(other, q), kl_divergence(other, dense), 1e-10);
  // The root is symmetric, so that its square is the covariance.
  const Matrix root = q.deviations(Matrix::Identity(7, 7));
  EXPECT_LT((root * root.transpose() - sigma).norm(), 1e-12);
  EXPECT_EQ(q.draws(3, 5).col(2), q.draws(9, 5).col(2));
  const Gaussian scaled = q.transformed(Vector::Ones(7), Vector::Constant(7, 2.));
  EXPECT_LT((scaled.times(v) - 4 * sigma * v).norm(), 1e-11);
  EXPECT_LT((scaled.mean() - 2 * q.mean() - Vector::Ones(7)).norm(), 1e-12);
}

TEST(Gaussian, SpikedComesBackFromAFileToTheBit) {
  const test::TemporaryFolder folder;
  const Gaussian q = low_rank(4, 1, 41).with_correction(spiked(4, 42));
  q.save(folder.path() / "posterior", {"a", "b", "c", "d"});
  const Gaussian back = load_posterior(folder.path() / "posterior").gaussian.corrected();
  ASSERT_TRUE(back.is_spiked());
  EXPECT_EQ(back.weights(), q.corrected().weights());
  EXPECT_EQ(back.draws(2, 1), q.corrected().draws(2, 1));
}

TEST(Gaussian, AnglesOfKnownSubspaces) {
  Matrix a = Matrix::Zero(4, 2);
  Matrix b = Matrix::Zero(4, 2);
  a(0, 0) = 3;
  a(1, 1) = 1;
  b(0, 0) = 2;
  b(1, 1) = b(2, 1) = 1;
  const Vector d = Vector::Ones(4);
  const Vector angles = subspace_angles(Gaussian::low_rank(d, a, d), Gaussian::low_rank(d, b, d));
  EXPECT_NEAR(angles(0), 0, 1e-7);
  EXPECT_NEAR(angles(1), std::numbers::pi / 4, 1e-7);
}

// n draws: the mean's error is sd/sqrt(n), a covariance entry's at most sqrt(2 s_ii s_jj / n): five of them.
TEST(Gaussian, DrawsHaveItsMoments) {
  constexpr Index kDraws = 100'000;
  const Gaussian low = low_rank(5, 2, 3);
  const Gaussian dense = Gaussian::dense(low.mean(), Matrix(covariance(low).llt().matrixL()));
  for (const Gaussian* q : {&low, &dense}) {
    const Matrix draws = q->draws(kDraws, 7);
    const Vector mean = draws.rowwise().mean();
    const Matrix centred = draws.colwise() - mean;
    const Matrix sample = centred * centred.transpose() / kDraws;
    const Matrix sigma = covariance(*q);
    for (Index i = 0; i < 5; ++i) {
      EXPECT_NEAR(mean(i), q->mean()(i), 5 * std::sqrt(sigma(i, i) / kDraws));
      for (Index j = 0; j < 5; ++j)
        EXPECT_NEAR(sample(i, j), sigma(i, j), 5 * std::sqrt(2 * sigma(i, i) * sigma(j, j) / kDraws));
    }
    EXPECT_EQ(q->draws(3, 7, 2).col(0), draws.col(2));
  }
}

TEST(Gaussian, TransformedScalesAndShifts) {
  const Gaussian q = low_rank(5, 2, 3);
  const Vector c = test::random_matrix(5, 1, 30);
  const Vector s = test::random_matrix(5, 1, 31).cwiseAbs().array() + .1;
  const Gaussian t = q.transformed(c, s);
  EXPECT_LT((t.mean() - c - s.cwiseProduct(q.mean())).norm(), 1e-12);
  EXPECT_LT((covariance(t) - s.asDiagonal() * covariance(q) * s.asDiagonal()).norm(), 1e-12);
}

TEST(Gaussian, RefusesWhatIsNoGaussian) {
  EXPECT_THROW((void)Gaussian::spiked(Vector::Zero(3), Vector::Ones(3), Matrix::Identity(3, 1),
                                      Vector::Constant(1, -1.)),
               UsageError);
  EXPECT_THROW(Gaussian::low_rank(Vector::Zero(3), Matrix::Zero(2, 1), Vector::Ones(3)), UsageError);
  EXPECT_THROW(Gaussian::low_rank(Vector::Zero(3), Matrix::Zero(3, 1), Vector::Zero(3)), UsageError);
  EXPECT_THROW(Gaussian::dense(Vector::Zero(3), Matrix::Zero(3, 3)), UsageError);
}

class PosteriorFile : public testing::Test {
 protected:
  test::TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "posterior";
  std::vector<std::string> names{"a", "b, with a comma", "c"};
};

TEST_F(PosteriorFile, ComesBackToTheBit) {
  const Gaussian low = low_rank(3, 2, 3);
  const Gaussian mean_field = low_rank(3, 0, 3);
  const Gaussian dense = Gaussian::dense(low.mean(), Matrix(covariance(low).llt().matrixL()));
  for (const Gaussian* q : {&low, &mean_field, &dense}) {
    q->save(path, names);
    const SavedPosterior loaded = load_posterior(path);
    EXPECT_EQ(loaded.gaussian.mean(), q->mean());
    EXPECT_EQ(loaded.gaussian.factors(), q->factors());
    EXPECT_EQ(loaded.gaussian.residual_sd(), q->residual_sd());
    EXPECT_EQ(loaded.gaussian.is_dense(), q->is_dense());
    EXPECT_EQ(loaded.gaussian.log_determinant(), q->log_determinant());
    EXPECT_EQ(loaded.names, names);
  }
}

TEST_F(PosteriorFile, IsRefusedWhereTruncatedOrAltered) {
  low_rank(3, 2, 3).save(path, names);
  std::ifstream in(path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  const auto write = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  };
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    write(whole.substr(0, size));
    EXPECT_THROW(load_posterior(path), DataError) << "cut at " << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string altered = whole;
    altered[at] = static_cast<char>(altered[at] ^ 1);
    write(altered);
    EXPECT_THROW(load_posterior(path), DataError) << "altered at " << at;
  }
  write(whole + "x");
  EXPECT_THROW(load_posterior(path), DataError);
}

TEST_F(PosteriorFile, LeavesNothingBehindWhereItCannotBeWritten) {
  EXPECT_THROW(low_rank(3, 2, 3).save(folder.path() / "none" / "posterior", names), IoError);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace magva
