// Linear response of single parameters within a low-rank family: against refits under tilts, exact for
// Gaussian posteriors, and what it makes of a Gaussian.
#include "sd_for/family_response.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>

#include <cmath>

#include "magva/error.hpp"
#include "magva/fit.hpp"
#include "magva/priors.hpp"
#include "magva/sd_for.hpp"
#include "sd_for/covariance_columns.hpp"
#include "sd_for/sampled_columns.hpp"
#include "unit/exact/problems.hpp"

namespace magva {
namespace {

const ExactObserver kGoOn = [](std::int64_t, double) { return true; };

/// log h + tilt' theta.
class Tilted final : public ExpectedLogDensity {
 public:
  Tilted(const ExpectedLogDensity& inner, Vector tilt) : inner_(inner), tilt_(std::move(tilt)) {}
  Index dimension() const override { return inner_.dimension(); }
  bool log_concave() const override { return inner_.log_concave(); }
  Index terms() const override { return inner_.terms(); }
  std::unique_ptr<Scratch> make_scratch(Index factors) const override { return inner_.make_scratch(factors); }
  double expect(const GaussianView& q, VectorRef gradient, CurvatureProducts& curvature,
                Evaluation& evaluation) const override {
    const double value = inner_.expect(q, gradient, curvature, evaluation);
    gradient += tilt_;
    return value + tilt_.dot(q.mean);
  }
  double expect(const GaussianView& q, VectorRef gradient, Matrix& curvature,
                Evaluation& evaluation) const override {
    const double value = inner_.expect(q, gradient, curvature, evaluation);
    gradient += tilt_;
    return value + tilt_.dot(q.mean);
  }

 private:
  const ExpectedLogDensity& inner_;
  Vector tilt_;
};

/// Mean, W and d as one vector. The ELBO is even in each d_i; one that belongs at 0 stays this share of an sd
/// away from it, where 1 / d_i^2 can still be computed with.
struct FamilyPoint {
  static constexpr double kLeast = 1e-3;

  Index m, p;
  Vector x;

  explicit FamilyPoint(const Gaussian& q) : m(q.dimension()), p(q.rank()), x(m * (p + 2)) {
    x << q.mean(), q.factors().reshaped(), q.residual_sd();
    keep_inside();
  }
  Gaussian gaussian() const {
    return Gaussian::low_rank(x.head(m), x.segment(m, m * p).reshaped(m, p), x.tail(m));
  }
  void keep_inside() {
    x.tail(m) = x.tail(m).cwiseAbs();
    x.tail(m) = x.tail(m).cwiseMax(kLeast * gaussian().sd());
  }
  Vector gradient(ExactElbo& elbo, const Vector& at) const {
    LowRankDerivatives by;
    elbo.low_rank(at.head(m), at.segment(m, m * p).reshaped(m, p), at.tail(m), by);
    Vector out(x.size());
    out << by.mean, by.factors.reshaped(), by.residual_sd;
    return out;
  }
  /// Minus the ELBO's, by differences.
  Matrix hessian(ExactElbo& elbo) const {
    constexpr double kStep = 2e-5;
    Matrix out(x.size(), x.size());
    for (Index j = 0; j < x.size(); ++j) {
      const Vector step = kStep * Vector::Unit(x.size(), j);
      out.col(j) = (gradient(elbo, x - step) - gradient(elbo, x + step)) / (2 * kStep);
    }
    return .5 * (out + out.transpose());
  }
  /// All moves but rotations of W, which change nothing: an orthonormal basis.
  Matrix moves() const {
    const Matrix w = x.segment(m, m * p).reshaped(m, p);
    Matrix rotations = Matrix::Zero(x.size(), p * (p - 1) / 2);
    Index column = 0;
    for (Index k = 0; k < p; ++k)
      for (Index l = k + 1; l < p; ++l, ++column) {
        rotations.col(column).segment(m + l * m, m) = w.col(k);
        rotations.col(column).segment(m + k * m, m) = -w.col(l);
      }
    if (column == 0) return Matrix::Identity(x.size(), x.size());
    const Matrix basis = rotations.householderQr().householderQ();
    return basis.rightCols(x.size() - column);
  }
  Vector newton_step(ExactElbo& elbo, const Vector& slope) const {
    const Matrix basis = moves();
    const Eigen::LLT<Matrix> curvature(basis.transpose() * hessian(elbo) * basis);
    EXPECT_EQ(curvature.info(), Eigen::Success);  // a maximum
    return basis * curvature.solve(basis.transpose() * slope);
  }
  void maximise(ExactElbo& elbo) {
    for (int k = 0; k < 8; ++k) {
      x += newton_step(elbo, gradient(elbo, x));
      keep_inside();
    }
  }
};

/// Columns with much in common, so that one factor is of use to all and well determined.
Regression small_regression(test::Kind kind) {
  RowMatrix x = .5 * test::design(25, 5, 91);
  x.colwise() += .5 * test::normals(25, 1, 90).col(0);
  return test::regression(kind, Design::own(x), test::responses(kind, x, 92),
                          NormalPriorOptions{.variance = 2});
}

/// Precisions of p factors and residuals, so that p factors are of use.
Regression factor_regression(test::Kind kind, Index p) {
  const Index m = 9;
  const Matrix w = test::normals(m, p, 71);
  Matrix sigma = w * w.transpose();
  sigma.diagonal().array() += .5;
  const Matrix root = Matrix(sigma.inverse()).llt().matrixL();
  const RowMatrix x = test::normals(60, m, 72) * root.transpose();
  return test::regression(kind, Design::own(x), test::responses(kind, x, 73),
                          NormalPriorOptions{.variance = 2});
}

Gaussian best_in_family(const ExpectedLogDensity& expected, const Gaussian& start) {
  Workers workers(1);
  ExactElbo elbo(expected, workers);
  FamilyPoint point(start);
  point.maximise(elbo);
  return point.gaussian();
}

Gaussian fitted(const Regression& model, Index rank) {
  FitOptions options;
  options.rank = rank;
  return fit(model, options).posterior.without_correction();
}

void expect_response_equals_refits(const Regression& model, Index rank) {
  const Index m = model.dimension();
  const Gaussian best = best_in_family(*model.expectations(), fitted(model, rank));
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  const double h = 1e-3;
  for (const Index i : {Index{0}, Index{3}}) {
    const auto column = response_column(elbo, best, i, kGoOn);
    ASSERT_TRUE(column.has_value()) << rank;
    const auto mean_under = [&](double tilt) {
      return best_in_family(Tilted(*model.expectations(), tilt * Vector::Unit(m, i)), best).mean();
    };
    const Vector refitted = (mean_under(h) - mean_under(-h)) / (2 * h);
    EXPECT_LT((refitted - *column).norm(), 1e-6 * column->norm()) << rank;
  }
}

// At some of these maxima residuals are 0, at others not.
TEST(FamilyResponse, EqualsRefitsUnderSmallTilts) {
  for (const test::Kind kind : {test::Kind::logistic, test::Kind::poisson}) {
    for (const Index rank : {0, 1, 2}) expect_response_equals_refits(small_regression(kind), rank);
    for (const Index rank : {2, 4}) expect_response_equals_refits(factor_regression(kind, rank), rank);
  }
}

// The ELBO's Hessian as a dense matrix.
TEST(FamilyResponse, SolvesTheDenseSystem) {
  for (const test::Kind kind : {test::Kind::logistic, test::Kind::poisson})
    for (const Index rank : {1, 2, 4}) {
      const Regression model = factor_regression(kind, rank);
      const Gaussian best = best_in_family(*model.expectations(), fitted(model, rank));
      Workers workers(1);
      ExactElbo elbo(*model.expectations(), workers);
      const FamilyPoint at(best);
      for (Index i = 0; i < 3; ++i) {
        const auto column = response_column(elbo, best, i, kGoOn);
        ASSERT_TRUE(column.has_value());
        const Vector dense = at.newton_step(elbo, Vector::Unit(at.x.size(), i)).head(model.dimension());
        EXPECT_LT((dense - *column).norm(), 1e-6 * dense.norm());
      }
    }
}

// A fit ends beside its maximum, where the ELBO need not be concave along rotations of the factors and in the
// logarithms of small residuals; its response must not be that with the covariance held fixed, which is 1 %
// to 4 % away.
TEST(FamilyResponse, OfAFitIsThatOfItsMaximum) {
  for (const test::Kind kind : {test::Kind::logistic, test::Kind::poisson})
    for (const Index rank : {2, 4}) {
      const Regression model = factor_regression(kind, rank);
      const Gaussian q = fitted(model, rank);
      const Gaussian best = best_in_family(*model.expectations(), q);
      Workers workers(1);
      ExactElbo elbo(*model.expectations(), workers);
      const auto column = response_column(elbo, q, 3, kGoOn);
      const auto wanted = response_column(elbo, best, 3, kGoOn);
      ASSERT_TRUE(column && wanted);
      EXPECT_LT((*column - *wanted).norm(), 5e-4 * wanted->norm());
    }
}

TEST(FamilyResponse, IsExactForGaussianPosteriorsOfAnyRank) {
  const RowMatrix x = test::design(30, 6, 93);
  const Regression model =
      test::regression(test::Kind::known_noise, Design::own(x),
                       test::responses(test::Kind::known_noise, x, 94), NormalPriorOptions{.variance = 3});
  Matrix precision = x.transpose() * x / .49;
  precision.diagonal().array() += 1. / 3;
  const Matrix wanted = precision.inverse();
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  for (const Index rank : {0, 2, 4}) {
    const Gaussian q = fitted(model, rank);
    for (Index i = 0; i < 6; ++i) {
      const auto column = response_column(elbo, q, i, kGoOn);
      ASSERT_TRUE(column.has_value());
      EXPECT_LT((*column - wanted.col(i)).norm(), 1e-6 * wanted.col(i).norm());
    }
  }
}

TEST(SampledColumns, AreExactForGaussianPosteriorsAndHaveTheirError) {
  const RowMatrix x = test::design(40, 6, 95);
  for (const test::Kind kind : {test::Kind::known_noise, test::Kind::logistic}) {
    const Regression model = test::regression(kind, Design::own(x), test::responses(kind, x, 96),
                                              NormalPriorOptions{.variance = 3});
    const Gaussian q = fitted(model, 1);
    Workers workers(1);
    ExactElbo elbo(*model.expectations(), workers);
    const Matrix wanted = elbo.low_rank(q.mean(), q.factors(), q.residual_sd()).curvature.inverse();
    Evaluator evaluator(model, 1);
    const SampledColumns found = sample_columns(evaluator, q, {1, 4}, 7);
    ASSERT_EQ(found.coordinates.size(), 2U);
    for (Index k = 0; k < 2; ++k) {
      const Index i = found.coordinates[static_cast<std::size_t>(k)];
      const double error = .5 * std::log(found.columns(i, k) / wanted(i, i));
      EXPECT_LT(std::abs(error), 4 * found.se(k) + 1e-6);  // 4 standard errors, and the differences' own
      EXPECT_LT(found.se(k), .03);
    }
    EXPECT_EQ(found.se.maxCoeff() < 1e-6, kind == test::Kind::known_noise);  // no Hessian varies there
  }
}

// The coordinates asked for have the columns' covariance; given these, the others vary as before.
TEST(CovarianceColumns, ReplaceAJointDistributionAndKeepWhatIsLeft) {
  const Gaussian low =
      Gaussian::low_rank(Vector::Zero(5), test::normals(5, 2, 97), Vector{{.5, .6, .7, .8, .9}});
  const Matrix before = low.times(Matrix::Identity(5, 5));
  const Gaussian dense = Gaussian::dense(Vector::Zero(5), before.llt().matrixL());
  const std::vector<Index> asked{1, 3}, rest{0, 2, 4};
  const Matrix wide = before + Matrix::Identity(5, 5) + .3 * Matrix::Ones(5, 5);
  const Matrix columns = wide(Eigen::all, asked);
  const auto left_of = [&](const Matrix& sigma) {
    return Matrix(sigma(rest, rest) -
                  sigma(rest, asked) * Matrix(sigma(asked, asked)).inverse() * sigma(asked, rest));
  };
  for (const Gaussian& q : {low, dense}) {
    const Matrix after = with_covariance_columns(q, asked, columns).times(Matrix::Identity(5, 5));
    EXPECT_LT((after(Eigen::all, asked) - columns).norm(), 1e-7 * columns.norm());
    EXPECT_LT((left_of(after) - left_of(before)).norm(), 1e-6);
  }
}

/// Student-t priors: their log density is not concave, so that no fit goes on to full rank.
Regression many_curved(Index columns) {
  const RowMatrix x = test::design(60, columns, 98);
  const std::vector<PriorBlock> blocks{
      {0, columns,
       StudentTBlock{Vector::Constant(columns, 4.), Vector::Zero(columns), Vector::Constant(columns, .3)}}};
  RegressionData data{Design::own(x), test::responses(test::Kind::logistic, x, 99), {}, {}};
  return {std::move(data), bernoulli_logit(), make_prior(blocks, columns)};
}

FitOptions rank_two() {
  FitOptions options;
  options.rank = 2;
  options.starts = 1;
  return options;
}

TEST(SdFor, CorrectsTheSdsAskedForAndSaysWhich) {
  const Regression model = many_curved(140);
  FitResult result = fit(model, rank_two());
  EXPECT_FALSE(result.posterior.has_correction());
  const std::vector<std::string> names{model.parameter_name(0), model.parameter_name(3),
                                       model.parameter_name(7)};
  const SdCorrection sds = correct_sds(model, result, {names[2] + "," + names[1], names[0]}, rank_two());
  EXPECT_FALSE(sds.all);
  EXPECT_EQ(sds.parameters, names);
  EXPECT_TRUE(sds.failed.empty());
  EXPECT_EQ(sds.se, 0);
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  const Vector corrected = result.posterior.best().sd();
  for (const Index i : {Index{0}, Index{3}, Index{7}}) {
    const auto column = response_column(elbo, result.posterior, i, kGoOn);
    EXPECT_NEAR(corrected(i), std::sqrt((*column)(i)), 1e-6 * corrected(i));
    EXPECT_GT(corrected(i), result.posterior.sd()(i));
  }
}

TEST(SdFor, CorrectsFitsWithDraws) {
  const Regression model = many_curved(140);
  FitOptions options = rank_two();
  options.expectations = Expectations::kDraws;
  FitResult result = fit(model, options);
  EXPECT_TRUE(correct_sds(model, result, {model.parameter_name(5)}, options).all);
  result.posterior = result.posterior.without_correction();  // as if it had been too large for that
  const SdCorrection sds = correct_sds(model, result, {model.parameter_name(5)}, options);
  EXPECT_EQ(sds.parameters, std::vector{model.parameter_name(5)});
  EXPECT_GT(sds.se, 0);
  EXPECT_LT(sds.se, .1);
  EXPECT_GT(result.posterior.best().sd()(5), result.posterior.sd()(5));
}

/// Normal pairs of variance 1 and correlation .9, which low rank has with sds of sqrt(1 - .9^2) only.
class NormalPairs final : public Model {
 public:
  explicit NormalPairs(Index pairs) : pairs_(pairs) {}
  Index dimension() const override { return 2 * pairs_; }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient, Evaluation&) const override {
    const double scale = 1 / (1 - kCorrelation * kCorrelation);
    for (Index s = 0; s < theta.cols(); ++s) {
      const auto a = theta.col(s).head(pairs_);
      const auto b = theta.col(s).tail(pairs_);
      gradient.col(s).head(pairs_) = scale * (kCorrelation * b - a);
      gradient.col(s).tail(pairs_) = scale * (kCorrelation * a - b);
      log_density(s) = .5 * theta.col(s).dot(gradient.col(s));
    }
  }

 private:
  static constexpr double kCorrelation = .9;
  Index pairs_;
};

// With standard errors of at most .05, the largest of 2,020 within five of them.
TEST(SdFor, EstimatesAllSdsOfLargeFitsWithDraws) {
  const NormalPairs model(1010);
  FitOptions options;
  options.rank = 1;
  options.starts = 1;
  FitResult result = fit(model, options);
  ASSERT_EQ(result.stopped, StopReason::kConverged);
  EXPECT_NEAR(result.posterior.sd().mean(), std::sqrt(1 - .81), .02);
  const SdCorrection sds = correct_sds(model, result, {}, options);
  ASSERT_TRUE(sds.estimates.has_value()) << result.gradient_evaluations;
  EXPECT_LE(sds.estimates->se.maxCoeff(), .05);
  EXPECT_LT(sds.estimates->sd.array().log().abs().maxCoeff(), .25);
}

TEST(SdFor, LeavesAFitThatHasAllSdsAlone) {
  const Regression model = small_regression(test::Kind::logistic);
  FitResult result = fit(model);
  const Vector before = result.posterior.best().sd();
  EXPECT_TRUE(correct_sds(model, result, {model.parameter_name(1)}).all);
  EXPECT_EQ(result.posterior.best().sd(), before);
}

TEST(SdFor, RefusesUnknownNames) {
  const Regression model = small_regression(test::Kind::logistic);
  EXPECT_THROW(check_sd_names(model, {"nobody"}), UsageError);
}

}  // namespace
}  // namespace magva
