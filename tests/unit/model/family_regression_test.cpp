// Regressions with any response family, offsets, trials, censoring and a prior for each coefficient: against
// plain sums over rows, finite differences, and draws.
#include "magva/family_regression.hpp"

#include <Eigen/Cholesky>

#include <cmath>

#include "magva/check_gradient.hpp"
#include "magva/error.hpp"
#include "magva/minibatch.hpp"
#include "magva/posterior.hpp"
#include "magva/priors.hpp"
#include "unit/model/support.hpp"

namespace magva::testing {
namespace {

struct FamilyKind {
  const char* name;
  Distribution family;
  Link link;
};

const FamilyKind kKinds[] = {
    {"gaussian", Distribution::gaussian, Link::identity},
    {"student_t", Distribution::student_t, Link::identity},
    {"bernoulli_probit", Distribution::bernoulli, Link::probit},
    {"bernoulli_cloglog", Distribution::bernoulli, Link::cloglog},
    {"binomial_logit", Distribution::binomial, Link::logit},
    {"binomial_cloglog", Distribution::binomial, Link::cloglog},
    {"poisson", Distribution::poisson, Link::log},
    {"negative_binomial", Distribution::negative_binomial, Link::log},
    {"gamma", Distribution::gamma, Link::log},
    {"weibull", Distribution::weibull, Link::log},
    {"exponential", Distribution::exponential, Link::log},
};

/// Data that the family could have produced, with an offset and weights; trials and censoring where it has
/// them.
RegressionData data_for(const FamilyKind& kind, Index rows, Index cols) {
  const RowMatrix x = random_design(rows, cols, 31);
  RegressionData data{Design::own(x), Vector(rows), normal_matrix(rows, 1, 32).col(0).cwiseAbs(), {}};
  data.offset = normal_matrix(rows, 1, 33, .3).col(0);
  data.weights(0) = 0;
  if (kind.family == Distribution::binomial)
    data.trials = (normal_matrix(rows, 1, 34).col(0).array().abs() * 3).ceil() + 1;
  if (allows_censoring(kind.family)) data.status = zero_one(rows, 35);
  const Vector beta = normal_matrix(cols, 1, 36, .3).col(0);
  const auto family = make_response_family(kind.family, kind.link, default_own_parameters(kind.family, beta));
  const Vector own = Vector::Constant(2, .4);
  std::mt19937_64 generator(37);
  for (Index i = 0; i < rows; ++i) {
    const double trials = data.trials.size() == 0 ? 1 : data.trials(i);
    data.response(i) = family->simulate(x.row(i).dot(beta) + data.offset(i), own.data(), trials, generator);
  }
  return data;
}

/// Of every kind but the horseshoe, over 7 coefficients.
std::vector<PriorBlock> mixed_blocks() {
  Vector centre(7);
  centre << 0, .3, -.2, 0, .5, 0, .1;
  return {{0, 1, CentredInterceptBlock{.4, 2.5, centre}},
          {1, 2, NormalBlock{Vector::Constant(2, .3), Vector::LinSpaced(2, .7, 1.5)}},
          {5, 2, HierarchicalBlock{"s(x)", PositivePrior::half_student_t(3, 2.5)}},
          {3, 2,
           StudentTBlock{Vector::LinSpaced(2, 3, 7), Vector::Constant(2, -.2), Vector::LinSpaced(2, 1, 2)}}};
}

std::vector<PriorBlock> horseshoe_blocks(std::optional<double> slab) {
  return {{0, 1, NormalBlock{Vector::Zero(1), Vector::Constant(1, 3)}},
          {1, 4, HorseshoeBlock{.5, slab, 4}},
          {5, 2, HorseshoeBlock{1, std::nullopt, 4}}};
}

class FamilyRegression : public ::testing::TestWithParam<FamilyKind> {
 protected:
  Regression model(Index rows, const std::vector<PriorBlock>& blocks) const {
    return model_of(data_for(GetParam(), rows, 7), blocks);
  }
  /// The priors of own parameters do not depend on the weights.
  Regression model_of(const RegressionData& data, const std::vector<PriorBlock>& blocks) const {
    auto own = default_own_parameters(GetParam().family, data.response);
    return {data, make_likelihood(make_response_family(GetParam().family, GetParam().link, std::move(own))),
            make_prior(blocks, 7)};
  }
};

TEST_P(FamilyRegression, GradientIsTheDerivative) {
  for (const auto& blocks : {mixed_blocks(), horseshoe_blocks(std::nullopt), horseshoe_blocks(2.0)}) {
    const Regression regression = model(29, blocks);
    for (unsigned seed = 0; seed < 2; ++seed) {
      const Vector theta = normal_matrix(regression.dimension(), 1, 40 + seed, .4).col(0);
      const GradientCheck check = check_gradient(regression, theta);
      EXPECT_TRUE(check.passed) << check.sentence;
    }
  }
}

// Many draws together go through other code than one: vectors of draws, blocks of rows.
TEST_P(FamilyRegression, LogLikelihoodIsTheSumOverRows) {
  const RegressionData data = data_for(GetParam(), 203, 7);
  const Regression regression = model(203, mixed_blocks());
  const auto family = response_family(regression.likelihood());
  const Matrix theta = normal_matrix(regression.dimension(), 19, 50, .3);
  const Evaluated found = evaluate(regression, theta);
  const auto& x = std::get<DenseRows<double>>(data.design.storage());
  const Eigen::Map<const RowMatrix> rows(x.data, x.rows, x.cols);
  const ResponseRows all{data.response.data(), data.trials.size() ? data.trials.data() : nullptr,
                         data.status.size() ? data.status.data() : nullptr, 203};
  Vector constants(203);
  family->constants(all, constants.data());
  // The prior alone is the log density where rows weigh next to nothing.
  RegressionData none = data;
  none.weights.setZero();
  none.weights(1) = 1e-12;
  const Evaluated prior = evaluate(model_of(none, mixed_blocks()), theta);
  for (Index s = 0; s < theta.cols(); ++s) {
    const Vector eta = rows * theta.col(s).head(7) + data.offset;
    Vector value(203);
    family->log_density(all, eta.data(), theta.col(s).data() + theta.rows() - family->own_count(),
                        value.data());
    double sum = 0;
    for (Index i = 0; i < 203; ++i)
      if (data.weights(i) > 0) sum += data.weights(i) * (value(i) + constants(i));
    EXPECT_NEAR(found.log_density(s) - prior.log_density(s), sum, 1e-9 * (1 + std::abs(sum)));
  }
}

struct Moments {
  double value;
  Vector gradient;
  Matrix curvature;
};

Moments expect(const Regression& model, const Vector& mean, const Matrix& factors) {
  Workers workers(1);
  const auto scratch = model.expectations()->make_scratch(factors.cols());
  Evaluation evaluation{*scratch, workers};
  Moments out{0, Vector(mean.size()), Matrix(mean.size(), mean.size())};
  out.value =
      model.expectations()->expect({mean, factors, Vector()}, out.gradient, out.curvature, evaluation);
  return out;
}

TEST_P(FamilyRegression, ExpectationsHaveTheirDerivativesAndMeetThePoint) {
  const Regression regression = model(41, mixed_blocks());
  if (GetParam().family == Distribution::student_t || GetParam().family == Distribution::weibull) {
    EXPECT_EQ(regression.expectations(), nullptr);
    return;
  }
  ASSERT_NE(regression.expectations(), nullptr);
  const Index m = regression.dimension();
  const Vector mean = normal_matrix(m, 1, 60, .3).col(0);
  const Matrix factors = normal_matrix(m, m, 61, .08);
  const Moments here = expect(regression, mean, factors);
  const double scale =
      1e-6 * (1 + here.gradient.cwiseAbs().maxCoeff() + here.curvature.cwiseAbs().maxCoeff());
  constexpr double kStep = 1e-4;
  for (Index i = 0; i < m; ++i) {
    Vector up = mean, down = mean;
    up(i) += kStep;
    down(i) -= kStep;
    const double by_mean =
        (expect(regression, up, factors).value - expect(regression, down, factors).value) / (2 * kStep);
    EXPECT_NEAR(here.gradient(i), by_mean, scale) << regression.parameter_name(i);
    Matrix wide = factors, narrow = factors;
    wide(i, (i + 1) % m) += kStep;
    narrow(i, (i + 1) % m) -= kStep;
    const double by_factor =
        (expect(regression, mean, wide).value - expect(regression, mean, narrow).value) / (2 * kStep);
    EXPECT_NEAR(-(here.curvature.row(i) * factors.col((i + 1) % m))(0), by_factor, scale)
        << regression.parameter_name(i);
  }
  const Moments point = expect(regression, mean, Matrix(m, 0));
  const Evaluated evaluated = evaluate(regression, mean);
  EXPECT_NEAR(point.value, evaluated.log_density(0), 1e-9 * (1 + std::abs(point.value)));
  EXPECT_LT((point.gradient - evaluated.gradient.col(0)).cwiseAbs().maxCoeff(),
            1e-8 * (1 + std::abs(point.value)));
}

// 5 standard errors of the mean over draws.
TEST_P(FamilyRegression, ExpectationsAreMeansOverDraws) {
  const Regression regression = model(41, mixed_blocks());
  if (!regression.expectations()) return;
  const Index m = regression.dimension();
  const Vector mean = normal_matrix(m, 1, 62, .2).col(0);
  const Matrix factors = normal_matrix(m, m, 63, .06);
  constexpr Index kDraws = 4000;
  const Matrix draws = (factors * normal_matrix(m, kDraws, 64)).colwise() + mean;
  const Vector value = evaluate(regression, draws).log_density;
  const double se = std::sqrt((value.array() - value.mean()).square().mean() / kDraws);
  EXPECT_NEAR(expect(regression, mean, factors).value, value.mean(), 5 * se);
}

TEST_P(FamilyRegression, AnEpochOfMinibatchesIsTheFullModel) {
  const auto full = std::make_shared<Regression>(model(96, mixed_blocks()));
  MinibatchOptions options;
  options.rows = 32;
  const Minibatch batches(full, options);
  const Matrix theta = normal_matrix(full->dimension(), 3, 70, .2);
  const Evaluated all = evaluate(*full, theta);
  Vector mean = Vector::Zero(3);
  for (Index b = 0; b < batches.batches(); ++b)
    mean += evaluate(batches, theta, 1, static_cast<std::uint64_t>(b)).log_density /
            static_cast<double>(batches.batches());
  for (Index s = 0; s < 3; ++s)
    EXPECT_NEAR(mean(s), all.log_density(s), 1e-9 * (1 + std::abs(all.log_density(s))));
}

INSTANTIATE_TEST_SUITE_P(All, FamilyRegression, ::testing::ValuesIn(kKinds),
                         [](const auto& info) { return info.param.name; });

// dnorm(1.4, .4, 2.5, log = TRUE) + dnorm(.5, 0, 1.5, log = TRUE) + dt((.1 + .2) / 1.5, 3, log = TRUE) -
// log(1.5)
TEST(PriorBlocks, DensityIsRs) {
  Vector centre(3);
  centre << 0, 2, 0;
  const std::vector<PriorBlock> blocks = {
      {0, 1, CentredInterceptBlock{.4, 2.5, centre}},
      {1, 1, NormalBlock{Vector::Zero(1), Vector::Constant(1, 1.5)}},
      {2, 1, StudentTBlock{Vector::Constant(1, 3), Vector::Constant(1, -.2), Vector::Constant(1, 1.5)}}};
  RegressionData data{Design::own(RowMatrix(RowMatrix::Zero(1, 3))), Vector::Zero(1), {}, {}};
  const Regression model = family_regression(data, Distribution::poisson, Link::log, make_prior(blocks, 3));
  Vector theta(3);
  theta << .4, .5, .1;
  // The only row has the predictor 0: log p = -1.
  EXPECT_NEAR(evaluate(model, theta).log_density(0) + 1, -4.72803287317894, 1e-12);
  EXPECT_EQ(describe_prior(blocks[1].prior), "normal(0, 1.5)");
  EXPECT_EQ(describe_prior(blocks[2].prior), "student_t(3, -0.2, 1.5)");
}

TEST(PriorBlocks, NamesOfCoordinates) {
  RegressionData data{Design::own(random_design(5, 7, 1)), Vector::Ones(5), {}, {}};
  const Regression model =
      family_regression(data, Distribution::gaussian, Link::identity, make_prior(horseshoe_blocks(2.0), 7));
  EXPECT_EQ(model.parameter_name(0), "beta[1]");
  EXPECT_EQ(model.parameter_name(1), "xi[beta[2]]");
  EXPECT_EQ(model.parameter_name(7), "log_lambda[beta[2]]");
  EXPECT_EQ(model.parameter_name(11), "log_tau");
  EXPECT_EQ(model.parameter_name(12), "log_c");
  EXPECT_EQ(model.parameter_name(13), "log_lambda[beta[6]]");
  EXPECT_EQ(model.parameter_name(15), "log_tau");
  EXPECT_EQ(model.parameter_name(16), "log_sigma");
}

TEST(PriorBlocks, BlocksThatDoNotFitAreRefused) {
  const NormalBlock one{Vector::Zero(1), Vector::Ones(1)};
  EXPECT_THROW(make_prior({{0, 1, one}}, 2), UsageError);
  EXPECT_THROW(make_prior({{0, 1, one}, {0, 1, one}}, 1), UsageError);
  EXPECT_THROW(make_prior({{0, 2, one}}, 2), UsageError);
  EXPECT_THROW(make_prior({{0, 1, NormalBlock{Vector::Zero(1), Vector::Zero(1)}}}, 1), UsageError);
  EXPECT_THROW(make_prior({{0, 1, CentredInterceptBlock{0, 1, Vector::Zero(3)}}}, 1), UsageError);
}

// With a huge sd the smooth is any cubic spline, which a parabola is; every column is centred.
TEST(SmoothBasisTest, HoldsParabolasAndGoesOnStraight) {
  const Vector x = Vector::LinSpaced(60, -1, 3);
  const SmoothBasis smooth(x, 10);
  const RowMatrix columns = smooth(x);
  EXPECT_EQ(columns.cols(), 9);
  EXPECT_LT(columns.colwise().mean().cwiseAbs().maxCoeff(), 1e-12);
  const Vector parabola = x.array().square();
  const Vector centred = parabola.array() - parabola.mean();
  const Vector fitted = columns * (columns.transpose() * columns).ldlt().solve(columns.transpose() * centred);
  EXPECT_LT((fitted - centred).cwiseAbs().maxCoeff(), 1e-8);
  // The first column is a straight line.
  const Vector steps = columns.col(0).tail(59) - columns.col(0).head(59);
  EXPECT_LT((steps.array() - steps(0)).abs().maxCoeff(), 1e-12);
  Vector beyond(3);
  beyond << 4, 5, 6;
  const RowMatrix out = smooth(beyond);
  EXPECT_LT((out.row(2) - 2 * out.row(1) + out.row(0)).cwiseAbs().maxCoeff(), 1e-9);
  const SmoothBasis again(smooth.basis(), smooth.transform(), smooth.means());
  EXPECT_EQ(again(x), columns);
  EXPECT_THROW(SmoothBasis(Vector::Constant(5, 1.0)), DataError);
}

TEST(FamilyRegressions, RowsThatDoNotFitAreRefused) {
  RegressionData data{Design::own(random_design(3, 2, 1)), Vector::Ones(3), {}, {}};
  const auto prior = make_prior(NormalPriorOptions{}, 2);
  data.trials = Vector::Ones(3);
  EXPECT_THROW(Regression(data, poisson_log(), prior), DataError);
  data.trials = Vector();
  data.status = Vector::Zero(3);
  EXPECT_THROW(family_regression(data, Distribution::gamma, Link::log, prior), DataError);
  data.status = Vector();
  data.offset = Vector::Ones(2);
  EXPECT_THROW(family_regression(data, Distribution::gamma, Link::log, prior), DataError);
  data.offset = Vector::Constant(3, std::nan(""));
  EXPECT_THROW(family_regression(data, Distribution::gamma, Link::log, prior), DataError);
}

}  // namespace
}  // namespace magva::testing
