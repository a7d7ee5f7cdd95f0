// Gaussian mixed models against the dense marginal density, N(X m, sigma^2 / w + X S^2 X' + Z T Z').
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <numbers>

#include "magva/check_gradient.hpp"
#include "magva/error.hpp"
#include "mixed/effect_scale.hpp"
#include "unit/mixed/simulated.hpp"

namespace magva {
namespace {

using mixed_test::evaluate;

struct Case {
  MixedData data;
  MixedPriors priors;
};

// Correlated slopes, a crossed factor and independent slopes, with offset.
Case three_terms(std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  const Index rows = 60;
  Case out{{Design::own(mixed_test::random_design(rows, generator)), Vector(rows), {}, {}, {}, {}, {}, {}},
           {}};
  out.data.terms = {mixed_test::random_term("a", rows, 7, 3, generator),
                    mixed_test::random_term("b", rows, 5, 1, generator),
                    mixed_test::random_term("c", rows, 4, 2, generator)};
  out.data.terms[2].correlated = false;
  out.data.offset.resize(rows);
  for (Index i = 0; i < rows; ++i) {
    out.data.response(i) = 30 + 2 * normal(generator);
    out.data.offset(i) = .3 * normal(generator);
  }
  out.priors = mixed_test::weak_priors(out.data);
  out.priors.location << 25, .5;
  out.priors.scale << 3, 2;
  out.priors.lkj = 1.7;
  return out;
}

Matrix dense_design(const Design& design) {
  const auto& rows = std::get<DenseRows<double>>(design.storage());
  return Eigen::Map<const RowMatrix>(rows.data, rows.rows, rows.cols);
}

// log N(y; X m + offset, V) without priors of theta, for rows that count once.
double dense_log_likelihood(const Case& in, ConstVectorRef theta) {
  const Index n = in.data.response.size();
  const Matrix x = dense_design(in.data.design);
  Matrix v = std::exp(2 * theta(0)) * Matrix::Identity(n, n);
  v += x * in.priors.scale.cwiseAbs2().asDiagonal() * x.transpose();
  Index at = 1;
  for (std::size_t k = 0; k < in.data.terms.size(); ++k) {
    const GroupTerm& term = in.data.terms[k];
    const mixed::EffectScale scale(term, in.priors.sd_scale[k], in.priors.lkj);
    const Matrix lambda = scale.lambda(theta.data() + at);
    const Matrix z = term.z.cols() > 0 ? Matrix(term.z) : Matrix::Ones(n, 1);
    const Matrix covariance = z * lambda * lambda.transpose() * z.transpose();
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j)
        if (term.group[static_cast<std::size_t>(i)] == term.group[static_cast<std::size_t>(j)])
          v(i, j) += covariance(i, j);
    at += scale.coordinates();
  }
  Vector r = in.data.response - x * in.priors.location;
  if (in.data.offset.size() > 0) r -= in.data.offset;
  const Eigen::LLT<Matrix> llt(v);
  const double log_determinant = 2 * Matrix(llt.matrixL()).diagonal().array().log().sum();
  return -.5 *
         (static_cast<double>(n) * std::log(2 * std::numbers::pi) + log_determinant + r.dot(llt.solve(r)));
}

double log_prior(const Case& in, ConstVectorRef theta) {
  Vector gradient = Vector::Zero(theta.size());
  double sum = PositivePrior::exponential(in.priors.sigma_rate).at(theta(0)).value;
  Index at = 1;
  for (std::size_t k = 0; k < in.data.terms.size(); ++k) {
    const mixed::EffectScale scale(in.data.terms[k], in.priors.sd_scale[k], in.priors.lkj);
    sum += scale.log_prior(theta.data() + at, gradient.data() + at);
    at += scale.coordinates();
  }
  return sum;
}

TEST(ClosedForm, IsTheDenseMarginalDensity) {
  const Case in = three_terms(1);
  const auto model = make_mixed(in.data, in.priors);
  ASSERT_EQ(model->model().dimension(), 1 + 6 + 1 + 2);
  std::mt19937_64 generator(2);
  std::normal_distribution<double> normal;
  for (int repeat = 0; repeat < 5; ++repeat) {
    Vector theta(model->model().dimension());
    for (Index i = 0; i < theta.size(); ++i) theta(i) = .7 * normal(generator);
    EXPECT_NEAR(evaluate(model->model(), theta), dense_log_likelihood(in, theta) + log_prior(in, theta),
                1e-7);
  }
}

TEST(ClosedForm, GradientIsTheDerivative) {
  Case in = three_terms(3);
  in.data.weights = Vector::LinSpaced(in.data.response.size(), .5, 2);
  in.priors.degrees_of_freedom = Vector(2);
  in.priors.degrees_of_freedom << std::numeric_limits<double>::infinity(), 4;
  const auto model = make_mixed(in.data, in.priors);
  for (const double shift : {0.0, .4, -3.0}) {
    const Vector theta =
        model->model().start() + Vector::LinSpaced(model->model().dimension(), shift - .3, shift);
    const GradientCheck check = check_gradient(model->model(), theta);
    EXPECT_TRUE(check.passed) << check.sentence;
  }
}

// Student-t priors are mixtures over lambda: integrating over log lambda numerically gives the density with
// the t.
TEST(ClosedForm, StudentPriorsAreMixturesOfNormals) {
  std::mt19937_64 generator(4);
  MixedData data{Design::own(RowMatrix(RowMatrix::Ones(4, 1))), Vector(4), {}, {}, {}, {}, {}, {}};
  data.response << .1, 1.2, 2.3, .4;
  data.terms = {mixed_test::random_term("a", 4, 2, 1, generator)};
  MixedPriors priors = mixed_test::weak_priors(data);
  priors.degrees_of_freedom = Vector::Constant(1, 5.0);
  const auto student = make_mixed(data, priors);
  double mixture = 0;
  const double step = .01;
  for (double log_lambda = -8; log_lambda < 12; log_lambda += step) {
    Vector theta(3);
    theta << -.2, -.4, log_lambda;
    mixture += step * std::exp(evaluate(student->model(), theta));
  }
  // The same by integrating the normal model's likelihood, given the coefficient, over the t density.
  double direct = 0;
  for (double beta = -80; beta < 80; beta += step) {
    MixedData given = data;
    given.offset = Vector::Constant(4, beta);
    given.design = Design::own(RowMatrix(RowMatrix(4, 0)));
    MixedPriors rest = priors;
    rest.location = rest.scale = rest.degrees_of_freedom = Vector(0);
    const auto conditional = make_mixed(given, rest);
    Vector theta(2);
    theta << -.2, -.4;
    const double t = beta / 2.5;
    const double density = std::exp(std::lgamma(3.0) - std::lgamma(2.5) -
                                    .5 * std::log(5 * std::numbers::pi) - 3 * std::log1p(t * t / 5)) /
                           2.5;
    direct += step * density * std::exp(evaluate(conditional->model(), theta));
    if (beta < -8 || beta > 8)
      beta += 9 * step, direct += 9 * step * density * std::exp(evaluate(conditional->model(), theta));
  }
  EXPECT_NEAR(std::log(mixture), std::log(direct), 1e-4);
}

// Groups of one size: within groups the sum of squares is sigma^2 chi^2, and group means are N(0, sd^2 +
// sigma^2 / m).
TEST(ClosedForm, BalancedOneWayLayout) {
  const Index groups = 6, size = 4;
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal;
  MixedData data{
      Design::own(RowMatrix(RowMatrix(groups * size, 0))), Vector(groups * size), {}, {}, {}, {}, {}, {}};
  GroupTerm term;
  term.name = "g";
  term.levels = mixed_test::level_names(groups);
  double within = 0, between = 0;
  for (Index g = 0; g < groups; ++g) {
    const double effect = normal(generator);
    for (Index i = 0; i < size; ++i) {
      term.group.push_back(static_cast<std::int32_t>(g));
      data.response(g * size + i) = effect + .5 * normal(generator);
    }
    const double mean = data.response.segment(g * size, size).mean();
    within += (data.response.segment(g * size, size).array() - mean).square().sum();
    between += mean * mean;
  }
  data.terms = {term};
  const auto model = make_mixed(data, mixed_test::weak_priors(data));
  for (const double log_sd : {-12.0, -1.0, .5}) {
    Vector theta(2);
    theta << -.6, log_sd;
    const double noise = std::exp(2 * theta(0)), of_mean = std::exp(2 * log_sd) + noise / size;
    const auto m = static_cast<double>(groups), n = static_cast<double>(groups * size);
    const double expected = -.5 * (n * std::log(2 * std::numbers::pi) + (n - m) * theta(0) * 2 +
                                   m * std::log(of_mean * size) + within / noise + between / of_mean);
    const double priors = PositivePrior::exponential(1).at(theta(0)).value +
                          PositivePrior::half_student_t(3, 2.5).at(log_sd).value;
    EXPECT_NEAR(evaluate(model->model(), theta), expected + priors, 1e-9);
    EXPECT_TRUE(check_gradient(model->model(), theta).passed);
  }
}

// Draws given theta have the conditional means and covariances of the joint normal distribution of effects,
// coefficients and response.
TEST(ClosedForm, DrawsFollowTheConditionalNormal) {
  const Case in = three_terms(6);
  const auto model = make_mixed(in.data, in.priors);
  const Vector theta = Vector::LinSpaced(model->model().dimension(), -.5, .6);
  const Index draws = 4000;
  Workers two(2), one(1);
  const Matrix many = theta.replicate(1, draws);
  const MixedDraws drawn = model->draw(many, 9, two);
  EXPECT_EQ((drawn.population - model->draw(many, 9, one).population).cwiseAbs().maxCoeff(), 0);

  const Index n = in.data.response.size();
  const Matrix x = dense_design(in.data.design);
  const GroupTerm& a = in.data.terms[0];
  const mixed::EffectScale scale(a, in.priors.sd_scale[0], in.priors.lkj);
  const Matrix lambda = scale.lambda(theta.data() + 1);
  // Coefficient 2 and effect 2 of group 3: covariances with the response, and the response's covariance.
  Matrix with_y = Matrix::Zero(2, n);
  with_y.row(0) = in.priors.scale(1) * in.priors.scale(1) * x.col(1).transpose();
  for (Index i = 0; i < n; ++i)
    if (a.group[static_cast<std::size_t>(i)] == 2)
      with_y(1, i) = (lambda * lambda.transpose()).row(1).dot(a.z.row(i));
  Matrix v(n, n);
  for (Index j = 0; j < n; ++j) {  // columns of V by differences of log densities would be dear: rebuild it
    for (Index i = 0; i < n; ++i) {
      v(i, j) = i == j ? std::exp(2 * theta(0)) : 0;
      v(i, j) += (x.row(i).array() * in.priors.scale.transpose().array().square() * x.row(j).array()).sum();
      Index at = 1;
      for (std::size_t k = 0; k < in.data.terms.size(); ++k) {
        const GroupTerm& term = in.data.terms[k];
        const mixed::EffectScale own(term, in.priors.sd_scale[k], in.priors.lkj);
        const Matrix l = own.lambda(theta.data() + at);
        const Matrix z = term.z.cols() > 0 ? Matrix(term.z) : Matrix::Ones(n, 1);
        if (term.group[static_cast<std::size_t>(i)] == term.group[static_cast<std::size_t>(j)])
          v(i, j) += (z.row(i) * l).dot(z.row(j) * l);
        at += own.coordinates();
      }
    }
  }
  const Vector r = in.data.response - in.data.offset - x * in.priors.location;
  const Matrix gain = with_y * v.inverse();
  const Vector mean = Vector(Eigen::Vector2d(in.priors.location(1), 0)) + gain * r;
  Vector variance(2);
  variance << in.priors.scale(1) * in.priors.scale(1), (lambda * lambda.transpose())(1, 1);
  variance -= (gain * with_y.transpose()).diagonal();
  const Matrix sample =
      (Matrix(2, draws) << drawn.population.row(1), drawn.effects[0].row(2 * 3 + 1)).finished();
  for (Index i = 0; i < 2; ++i) {
    const double sd = std::sqrt(variance(i)), at = sample.row(i).mean();
    EXPECT_NEAR(at, mean(i), 4 * sd / std::sqrt(static_cast<double>(draws)));  // 4 standard errors
    const double spread = std::sqrt((sample.row(i).array() - at).square().mean());
    EXPECT_NEAR(spread / sd, 1, 4 / std::sqrt(2.0 * static_cast<double>(draws)));
  }
}

TEST(ClosedForm, SaysWhatIsWrongWithTheData) {
  Case in = three_terms(7);
  in.data.terms[1].group[4] = 5;
  try {
    make_mixed(in.data, in.priors);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "group b has level 5 in row 5, and must be between 0 and 4");
  }
  in = three_terms(7);
  in.data.terms[1].levels.resize(1);
  EXPECT_THROW(make_mixed(in.data, in.priors), DataError);
  in = three_terms(7);
  in.priors.sd_scale.pop_back();
  EXPECT_THROW(make_mixed(in.data, in.priors), UsageError);
}

}  // namespace
}  // namespace magva
