// The gradients of the one-draw ELBO estimate against finite differences, for every family and both
// coordinates of the scales; Woodbury against dense algebra; invariance under rotation of the factors.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "family/family.hpp"
#include "support/targets.hpp"

namespace magva {
namespace {

constexpr FamilyKind kAll[] = {FamilyKind::kMeanField, FamilyKind::kVafc,      FamilyKind::kStiefel,
                               FamilyKind::kGrassmann, FamilyKind::kFixedRank, FamilyKind::kFullRank};

struct Case {
  Workers workers;
  std::unique_ptr<Family> family;
  Matrix noise;
  Matrix theta;
  Matrix gradient;
  Vector log_h;

  Case(FamilyKind kind, ScaleCoordinates scales, Index m, Index p, Index draws, std::uint64_t seed) {
    FamilyOptions options;
    options.kind = kind;
    options.rank = p;
    options.scales = scales;
    family = make_family(options, m, draws, seed, workers);
    for (auto& block : family->blocks()) {
      const Matrix jitter = test::random_matrix(block.value.rows(), block.value.cols(), seed + 17);
      if (block.kind == BlockKind::kMean) block.value = jitter;
      // Non-unit scales of both signs; in log coordinates any number is a scale.
      if (block.kind == BlockKind::kFactorScale || block.kind == BlockKind::kResidualScale)
        block.value = (scales == ScaleCoordinates::kLog)
                          ? Matrix(.4 * jitter)
                          : Matrix(jitter.array().sign() * (.3 + jitter.array().abs()));
      if (block.kind == BlockKind::kCholesky) {
        block.value = (.3 * jitter).triangularView<Eigen::StrictlyLower>();
        block.value.diagonal() =
            (jitter.diagonal().array().sign() * (.5 + jitter.diagonal().array().abs())).matrix();
      }
    }
    noise = test::random_matrix(family->noise_size(), draws, seed + 5);
    theta.resize(m, draws);
    gradient.resize(m, draws);
    log_h.resize(draws);
  }

  template <class Target>
  double elbo(const Target& model) {
    family->prepare();
    family->draw(noise, theta);
    Scratch scratch;
    Evaluation evaluation{scratch, workers};
    model.evaluate(theta, log_h, gradient, evaluation);
    return log_h.mean() + family->entropy();
  }
};

auto target(Index m, std::uint64_t seed) {
  return test::logistic_target(test::random_matrix(2 * m + 3, m, seed + 1),
                               test::random_labels(2 * m + 3, seed + 2), 10);
}

TEST(FamilyLaws, EntropyGradientsAgreeWithFiniteDifferences) {
  for (const FamilyKind kind : kAll)
    for (const auto scales : {ScaleCoordinates::kPlain, ScaleCoordinates::kLog}) {
      const bool passed = rc::check(name(kind), [&] {
        const auto m = static_cast<Index>(*rc::gen::inRange(1, 9));
        const auto p = static_cast<Index>(*rc::gen::inRange(0, static_cast<int>(m) + 1));
        const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
        Case at(kind, scales, m, p, 3, seed);
        const auto model = target(m, seed);
        at.elbo(model);
        at.family->gradient(at.noise, Vector::Constant(3, 1. / 3), Estimator::kEntropy, at.gradient);
        for (auto& block : at.family->blocks()) {
          const Matrix analytic = block.gradient;
          for (Index j = 0; j < block.value.cols(); ++j)
            for (Index i = 0; i < block.value.rows(); ++i) {
              if (block.manifold == ManifoldKind::kLowerTrapezoidal && i < j) continue;
              const double h = 1e-5;
              const double kept = block.value(i, j);
              block.value(i, j) = kept + h;
              const double up = at.elbo(model);
              block.value(i, j) = kept - h;
              const double down = at.elbo(model);
              block.value(i, j) = kept;
              const double numeric = (up - down) / (2 * h);
              RC_ASSERT(std::abs(numeric - analytic(i, j)) <= 2e-5 * (1 + std::abs(numeric)));
            }
        }
      });
      EXPECT_TRUE(passed) << name(kind);
    }
}

// Averaged over many draws the two estimators agree: their difference has mean zero, and is compared with
// five standard errors, themselves estimated from the draws in batches.
TEST(FamilyLaws, PathDerivativeHasTheSameMeanAsTheEntropyForm) {
  constexpr int kBatches = 400;
  for (const FamilyKind kind : kAll) {
    Case at(kind, ScaleCoordinates::kPlain, 5, 2, 8, 3);
    const auto model = target(5, 3);
    const std::size_t blocks = at.family->blocks().size();
    std::vector<Matrix> sum(blocks), squares(blocks);
    for (int batch = 0; batch < kBatches; ++batch) {
      Noise(9, NoiseStream::kFit).fill(static_cast<std::uint64_t>(batch), 0, at.noise);
      const Vector weight = Vector::Constant(8, 1. / 8);
      std::vector<Matrix> entropy_form;
      at.elbo(model);
      at.family->gradient(at.noise, weight, Estimator::kEntropy, at.gradient);
      for (const auto& block : at.family->blocks()) entropy_form.push_back(block.gradient);
      at.family->gradient(at.noise, weight, Estimator::kPath, at.gradient);
      for (std::size_t b = 0; b < blocks; ++b) {
        Matrix difference = at.family->blocks()[b].gradient - entropy_form[b];
        if (at.family->blocks()[b].manifold == ManifoldKind::kLowerTrapezoidal)
          difference = Matrix(difference.triangularView<Eigen::Lower>());
        if (batch == 0) sum[b] = squares[b] = Matrix::Zero(difference.rows(), difference.cols());
        sum[b] += difference;
        squares[b] += difference.cwiseAbs2();
      }
    }
    for (std::size_t b = 0; b < blocks; ++b) {
      const Matrix mean = sum[b] / kBatches;
      const Matrix se = ((squares[b] / kBatches - mean.cwiseAbs2()).cwiseMax(0) / kBatches).cwiseSqrt();
      EXPECT_TRUE((mean.array().abs() <= 5 * se.array() + 1e-12).all()) << name(kind) << " block " << b;
    }
  }
}

TEST(FamilyLaws, WoodburyAgreesWithDenseAlgebra) {
  for (const FamilyKind kind : kAll) {
    Case at(kind, ScaleCoordinates::kPlain, 7, 3, 1, 11);
    at.family->prepare();
    const Gaussian q = at.family->gaussian();
    Matrix sigma = q.factors() * q.factors().transpose();
    if (!q.is_dense()) sigma += Matrix(q.residual_sd().cwiseAbs2().asDiagonal());
    EXPECT_NEAR(q.log_determinant(), std::log(sigma.determinant()), 1e-9);
    EXPECT_NEAR(at.family->entropy(), .5 * q.log_determinant() + 3.5 * (std::log(2 * std::numbers::pi) + 1),
                1e-9);
    const Matrix v = test::random_matrix(7, 2, 4);
    EXPECT_LT((q.solve(v) - sigma.inverse() * v).norm(), 1e-9);
    EXPECT_LT((q.precision_diagonal() - sigma.inverse().diagonal()).norm(), 1e-9);
    EXPECT_LT((q.sd() - sigma.diagonal().cwiseSqrt()).norm(), 1e-12);
    EXPECT_LT((q.covariance_row(2) - sigma.col(2)).norm(), 1e-12);
    EXPECT_NEAR(q.correlation(1, 4), sigma(1, 4) / std::sqrt(sigma(1, 1) * sigma(4, 4)), 1e-12);
    Vector product = v.col(0);
    at.family->times_covariance(product);
    EXPECT_LT((product - sigma * v.col(0)).norm(), 1e-9) << name(kind);
  }
}

TEST(FamilyLaws, ElboIsInvariantUnderRotationOfTheFactors) {
  for (const FamilyKind kind : {FamilyKind::kVafc, FamilyKind::kGrassmann}) {
    Case at(kind, ScaleCoordinates::kPlain, 6, 3, 4, 21);
    const auto model = target(6, 21);
    const double before = at.elbo(model);
    const Matrix rotation = random_point(ManifoldKind::kStiefel, 3, 3, 5);
    for (auto& block : at.family->blocks())
      if (block.kind == BlockKind::kFactors) block.value = (block.value * rotation).eval();
    at.noise.topRows(3) = (rotation.transpose() * at.noise.topRows(3)).eval();
    EXPECT_NEAR(at.elbo(model), before, 1e-10) << name(kind);
  }
}

}  // namespace
}  // namespace magva
