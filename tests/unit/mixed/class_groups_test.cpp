// Ordered and unordered classes with groups: two classes against a bernoulli response, integrals against sums
// over grids, gradients against differences.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "magva/check_gradient.hpp"
#include "magva/error.hpp"
#include "mixed/row_likelihood.hpp"
#include "unit/mixed/simulated.hpp"

namespace magva {
namespace {

using mixed_test::evaluate;

constexpr Index kRows = 60;

struct ClassCase {
  MixedData data;
  MixedPriors priors;
};

ClassCase classes_of(Index classes, std::vector<GroupTerm> terms, std::mt19937_64& generator) {
  ClassCase out{
      {Design::own(mixed_test::random_design(kRows, generator)), Vector(kRows), {}, {}, {}, {}, {}, {}}, {}};
  out.data.terms = std::move(terms);
  for (Index i = 0; i < kRows; ++i)
    out.data.response(i) = static_cast<double>(generator() % static_cast<std::uint64_t>(classes));
  out.priors = mixed_test::weak_priors(out.data);
  return out;
}

/// The design without its column of ones.
void drop_intercept(ClassCase& in) {
  auto x = std::get<DenseRows<double>>(in.data.design.storage());
  ++x.data;
  --x.cols;
  in.data.design = Design::view(x, std::make_shared<const Design>(in.data.design));
  in.priors.location = Vector(in.priors.location.tail(1));
  in.priors.scale = Vector(in.priors.scale.tail(1));
}

void expect_gradient(const MixedModel& mixed, double tolerance) {
  const Model& model = mixed.model();
  for (const double shift : {-.4, .3}) {
    const Vector theta = model.start() + Vector::LinSpaced(model.dimension(), shift, .5 * shift + .1);
    const GradientCheck check = check_gradient(model, theta, {.tolerance = tolerance});
    EXPECT_TRUE(check.passed) << mixed.describe() << ": " << check.sentence;
  }
}

// P(y = 0) = 1 / (1 + exp(x b - c)): a bernoulli response with the intercept -c, but for their priors.
TEST(OrderedGroups, TwoClassesAreABernoulliResponse) {
  std::mt19937_64 generator(1);
  ClassCase in = classes_of(2, {mixed_test::random_term("g", kRows, 9, 1, generator)}, generator);
  in.data.weights = Vector::LinSpaced(kRows, .5, 1.5);
  const auto bernoulli =
      make_mixed(in.data, in.priors, make_response_family(Distribution::bernoulli, Link::logit, {}));
  Vector theta(3);
  theta << -.7, .4, -.2;  // intercept, slope, log sd
  const double expected = evaluate(bernoulli->model(), theta) + .5 * std::pow(.7 / 2.5, 2) + std::log(2.5) +
                          .5 * std::log(2 * std::numbers::pi) +
                          // dt(.7 / 2.5, 3, log = TRUE) - log(2.5)
                          std::lgamma(2.0) - std::lgamma(1.5) - .5 * std::log(3 * std::numbers::pi) -
                          std::log(2.5) - 2 * std::log1p(std::pow(.7 / 2.5, 2) / 3);
  drop_intercept(in);
  const auto ordered = make_mixed(in.data, in.priors, make_ordered_family(2));
  EXPECT_EQ(ordered->method(), MixedMethod::quadrature);
  Vector with_cut(3);
  with_cut << .4, .7, -.2;  // slope, cut point, log sd
  EXPECT_NEAR(evaluate(ordered->model(), with_cut), expected, 1e-9 * std::abs(expected));
  EXPECT_EQ(ordered->population_names(), (std::vector<std::string>{"beta[1]", "cut[1]", "sd(g: Intercept)"}));
}

TEST(OrderedGroups, GradientsAreDerivatives) {
  std::mt19937_64 generator(2);
  ClassCase one = classes_of(4, {mixed_test::random_term("g", kRows, 9, 2, generator)}, generator);
  drop_intercept(one);
  one.data.weights = Vector::LinSpaced(kRows, .5, 1.5);
  const auto quadrature = make_mixed(one.data, one.priors, make_ordered_family(4));
  EXPECT_EQ(quadrature->method(), MixedMethod::quadrature);
  expect_gradient(*quadrature, 5e-4);  // of 9 x 9 points
  ClassCase two = classes_of(4,
                             {mixed_test::random_term("g", kRows, 9, 1, generator),
                              mixed_test::random_term("h", kRows, 5, 1, generator)},
                             generator);
  drop_intercept(two);
  const auto laplace = make_mixed(two.data, two.priors, make_ordered_family(4));
  EXPECT_EQ(laplace->method(), MixedMethod::laplace);
  expect_gradient(*laplace, 1e-5);
}

TEST(OrderedGroups, ClassesThatThereAreNot) {
  std::mt19937_64 generator(3);
  ClassCase in = classes_of(3, {mixed_test::random_term("g", kRows, 9, 1, generator)}, generator);
  drop_intercept(in);
  in.data.response(4) = 3;
  EXPECT_THROW(make_mixed(in.data, in.priors, make_ordered_family(3)), DataError);
  EXPECT_THROW(make_mixed_categorical(in.data, in.priors, {"a", "b", "c"}), DataError);
}

TEST(CategoricalGroups, TwoClassesAreABernoulliResponse) {
  std::mt19937_64 generator(4);
  ClassCase in = classes_of(2, {mixed_test::random_term("g", kRows, 9, 2, generator)}, generator);
  in.data.weights = Vector::LinSpaced(kRows, .5, 1.5);
  in.data.offset = Vector::LinSpaced(kRows, -.5, .5);
  const auto bernoulli =
      make_mixed(in.data, in.priors, make_response_family(Distribution::bernoulli, Link::logit, {}));
  const auto categorical = make_mixed_categorical(in.data, in.priors, {"a", "b"});
  Vector theta(5);
  theta << -.7, .4, -.2, .3, .5;
  EXPECT_NEAR(evaluate(categorical->model(), theta), evaluate(bernoulli->model(), theta), 1e-9);
  Workers workers(1);
  const Matrix columns = theta.replicate(1, 5);
  const MixedDraws some = categorical->draw(columns, 3, workers),
                   others = bernoulli->draw(columns, 3, workers);
  EXPECT_LT((some.effects[0] - others.effects[0]).cwiseAbs().maxCoeff(), 1e-6);
}

/// log P(y) at these linear predictors.
double log_softmax(Index y, double first, double second) {
  return (y == 1 ? first : y == 2 ? second : 0) - std::log(1 + std::exp(first) + std::exp(second));
}

// Two effects for each group, of classes b and c: sums over a grid of spacing .2, exact for smooth functions.
TEST(CategoricalGroups, ThreeClassesLikeSumsOverAGrid) {
  std::mt19937_64 generator(5);
  const ClassCase in = classes_of(3, {mixed_test::random_term("g", kRows, 12, 1, generator)}, generator);
  const auto model = make_mixed_categorical(in.data, in.priors, {"a", "b", "c"});
  Vector theta(6);
  theta << -.2, .3, .1, -.4, -.3, .2;  // intercept and slope of b and of c, log sds
  const auto& x = std::get<DenseRows<double>>(in.data.design.storage());
  const Matrix eta =
      Eigen::Map<const RowMatrix>(x.data, x.rows, x.cols) * Eigen::Map<const Matrix>(theta.data(), 2, 2);
  double expected = 0;
  for (Index j = 0; j < 4; ++j)
    expected -= .5 * theta(j) * theta(j) / 6.25 + std::log(2.5) + .5 * std::log(2 * std::numbers::pi);
  for (const Index k : {4, 5}) expected += PositivePrior::half_student_t(3, 2.5).at(theta(k)).value;
  for (Index g = 0; g < 12; ++g) {
    double sum = 0;
    for (double v = -6; v <= 6; v += .2)
      for (double w = -6; w <= 6; w += .2) {
        double log_density = 0;
        for (Index i = 0; i < kRows; ++i)
          if (in.data.terms[0].group[static_cast<std::size_t>(i)] == g)
            log_density +=
                log_softmax(static_cast<Index>(in.data.response(i)), eta(i, 0) + std::exp(theta(4)) * v,
                            eta(i, 1) + std::exp(theta(5)) * w);
        sum += .04 * mixed_test::normal_density(v) * mixed_test::normal_density(w) * std::exp(log_density);
      }
    expected += std::log(sum);
  }
  EXPECT_NEAR(evaluate(model->model(), theta), expected, 1e-4);
  expect_gradient(*model, 1e-3);
  EXPECT_EQ(model->population_names().back(), "sd(g: c: Intercept)");
  EXPECT_EQ(model->effect_names(1).front(), "g[g1]: c: Intercept");
}

// With several grouping factors by Laplace's method, of whose densities some are to second order.
TEST(CategoricalGroups, TwoClassesAreABernoulliResponseIfCrossed) {
  std::mt19937_64 generator(8);
  ClassCase in = classes_of(2,
                            {mixed_test::random_term("g", kRows, 9, 2, generator),
                             mixed_test::random_term("h", kRows, 5, 1, generator)},
                            generator);
  in.data.weights = Vector::LinSpaced(kRows, .5, 1.5);
  in.data.offset = Vector::LinSpaced(kRows, -.5, .5);
  const auto bernoulli =
      make_mixed(in.data, in.priors, make_response_family(Distribution::bernoulli, Link::logit, {}));
  const auto categorical = make_mixed_categorical(in.data, in.priors, {"a", "b"});
  EXPECT_EQ(categorical->method(), MixedMethod::laplace);
  Vector theta(4);
  theta << -.2, .3, .5, -.4;
  EXPECT_NEAR(evaluate(categorical->model(), theta), evaluate(bernoulli->model(), theta), 1e-9);
  Workers workers(1);
  EXPECT_NEAR(categorical->log_densities(theta, workers)(0), bernoulli->log_densities(theta, workers)(0),
              1e-6);
}

TEST(CategoricalGroups, GradientsOfCrossedAndNestedGroupsAreDerivatives) {
  std::mt19937_64 generator(9);
  ClassCase crossed = classes_of(4,
                                 {mixed_test::random_term("g", kRows, 9, 2, generator),
                                  mixed_test::random_term("h", kRows, 5, 1, generator)},
                                 generator);
  crossed.data.weights = Vector::LinSpaced(kRows, .5, 1.5);
  crossed.data.offset = Vector::LinSpaced(kRows, -.5, .5);
  crossed.priors.degrees_of_freedom = Vector::Constant(2, 4);
  const auto model = make_mixed_categorical(crossed.data, crossed.priors, {"a", "b", "c", "d"});
  expect_gradient(*model, 1e-5);
  EXPECT_EQ(model->term_count(), 6U);
  EXPECT_EQ(model->effect_names(3).front(), "h[g1]: c: Intercept");
  ClassCase nested = classes_of(3, {mixed_test::random_term("g", kRows, 12, 1, generator)}, generator);
  GroupTerm outer = nested.data.terms[0];
  outer.name = "outer";
  outer.levels = mixed_test::level_names(4);
  for (std::int32_t& group : outer.group) group /= 3;
  nested.data.terms.push_back(outer);
  nested.priors.sd_scale.push_back(nested.priors.sd_scale[0]);
  expect_gradient(*make_mixed_categorical(nested.data, nested.priors, {"a", "b", "c"}), 1e-5);
}

/// Two factors with two levels each and no coefficients: a sum over a grid of the second factor's effects of
/// the product of the first one's integrals.
double crossed_integral(const MixedData& data, const Vector& log_sds) {
  constexpr double kSpacing = 1;
  const Vector grid = Vector::LinSpaced(11, -5, 5);
  const auto weight = [](double v) { return kSpacing * mixed_test::normal_density(v); };
  const auto group_integral = [&](std::int32_t g, const Vector& second) {
    double sum = 0;
    for (const double b : grid)
      for (const double c : grid) {
        double log_density = 0;
        for (std::size_t i = 0; i < data.terms[0].group.size(); ++i) {
          if (data.terms[0].group[i] != g) continue;
          const Index h = data.terms[1].group[i];
          log_density += log_softmax(static_cast<Index>(data.response(static_cast<Index>(i))),
                                     std::exp(log_sds(0)) * b + std::exp(log_sds(1)) * second(h),
                                     std::exp(log_sds(2)) * c + std::exp(log_sds(3)) * second(2 + h));
        }
        sum += weight(b) * weight(c) * std::exp(log_density);
      }
    return sum;
  };
  double sum = 0;
  Vector second(4);
  for (second(0) = -5; second(0) <= 5; second(0) += kSpacing)
    for (second(1) = -5; second(1) <= 5; second(1) += kSpacing)
      for (second(2) = -5; second(2) <= 5; second(2) += kSpacing)
        for (second(3) = -5; second(3) <= 5; second(3) += kSpacing) {
          double product = group_integral(0, second) * group_integral(1, second);
          for (const double v : second) product *= weight(v);
          sum += product;
        }
  return std::log(sum);
}

TEST(CategoricalGroups, SecondOrderIsNearerToTheIntegralIfCrossed) {
  std::mt19937_64 generator(10);
  MixedData data{Design::own(RowMatrix(RowMatrix(12, 0))), Vector(12), {}, {}, {}, {}, {}, {}};
  data.terms = {mixed_test::random_term("g", 12, 2, 1, generator),
                mixed_test::random_term("h", 12, 2, 1, generator)};
  for (Index i = 0; i < 12; ++i) data.response(i) = static_cast<double>(generator() % 3);
  const MixedPriors priors = mixed_test::weak_priors(data);
  const auto model = make_mixed_categorical(data, priors, {"a", "b", "c"});
  Vector log_sds(4);  // of class b those of g and h, then of class c
  log_sds << -.5, -.2, .1, -.4;
  double exact = crossed_integral(data, log_sds);
  for (const double log_sd : log_sds) exact += PositivePrior::half_student_t(3, 2.5).at(log_sd).value;
  Workers workers(1);
  const double first = evaluate(model->model(), log_sds) - exact;
  const double second = model->log_densities(log_sds, workers)(0) - exact;
  EXPECT_LT(std::abs(first), .2);
  EXPECT_LT(std::abs(second), .3 * std::abs(first)) << first << ", " << second;
}

TEST(CategoricalGroups, FourthDerivativesAreThoseOfTheThird) {
  std::mt19937_64 generator(11);
  ClassCase in = classes_of(4, {mixed_test::random_term("g", kRows, 9, 1, generator)}, generator);
  in.data.weights = Vector::LinSpaced(kRows, .5, 1.5);
  const mixed::Problem problem{in.data, in.priors, nullptr, 3};
  const auto likelihood = mixed::make_row_likelihood(problem);
  const Matrix eta = Matrix::Random(kRows, 3);
  const Matrix root = Matrix::Random(3, 3), h = root * root.transpose();
  Matrix forms(kRows, 6);
  for (Index c = 0; c < 3; ++c)
    for (Index d = 0; d <= c; ++d) forms.col(mixed::pair_place(c, d)).setConstant(h(c, d));
  // sum_cd h_cd l''_cd along v, whose second derivatives by the columns of h's root add up to the answer.
  const auto curvature = [&](const Vector& v) {
    const Matrix at = eta.rowwise() + v.transpose();
    Vector value(kRows);
    Matrix slopes(kRows, 3), second(kRows, 6);
    likelihood->curvatures({0, kRows, at.data(), kRows, nullptr}, value.data(), slopes.data(), second.data());
    double sum = 0;
    for (Index c = 0; c < 3; ++c)
      for (Index d = 0; d < 3; ++d) sum -= h(c, d) * second.col(mixed::pair_place(c, d)).sum();
    return sum;
  };
  double expected = 0;
  constexpr double kStep = 1e-3;
  for (Index k = 0; k < 3; ++k) {
    const Vector v = kStep * root.col(k);
    expected += (curvature(v) - 2 * curvature(Vector::Zero(3)) + curvature(-v)) / (kStep * kStep);
  }
  EXPECT_NEAR(likelihood->contracted_fourths({0, kRows, eta.data(), kRows, nullptr}, forms), expected,
              1e-4 * std::abs(expected));
}

TEST(CategoricalGroups, SaysWhatItCannotTake) {
  std::mt19937_64 generator(6);
  ClassCase horseshoe = classes_of(3, {mixed_test::random_term("g", kRows, 9, 1, generator)}, generator);
  horseshoe.priors.horseshoes = {{1, 1, 1, std::nullopt}};
  EXPECT_THROW(make_mixed_categorical(horseshoe.data, horseshoe.priors, {"a", "b", "c"}), UsageError);
}

struct ShrunkenCase {
  MixedData data;
  MixedPriors priors;
  std::shared_ptr<const ResponseFamily> family;
};

ShrunkenCase shrunken(Distribution distribution, std::optional<double> slab) {
  std::mt19937_64 generator(7);
  std::normal_distribution<double> normal;
  RowMatrix x = RowMatrix::Ones(kRows, 5);
  for (double& value : x.rightCols(4).reshaped()) value = normal(generator);
  ShrunkenCase out{{Design::own(x), Vector(kRows), {}, {}, {}, {}, {}, {}}, {}, {}};
  out.data.terms = {mixed_test::random_term("g", kRows, 9, 1, generator)};
  for (Index i = 0; i < kRows; ++i)
    out.data.response(i) = distribution == Distribution::gaussian ? x(i, 1) + normal(generator)
                                                                  : static_cast<double>(generator() % 2);
  out.priors = mixed_test::weak_priors(out.data);
  out.priors.horseshoes = {{2, 3, .5, slab}};
  out.family = make_response_family(distribution, default_link(distribution),
                                    default_own_parameters(distribution, out.data.response));
  return out;
}

TEST(HorseshoeBesideGroups, GradientsAreDerivatives) {
  for (const std::optional<double> slab : {std::optional<double>(), std::optional(2.0)})
    for (const Distribution distribution : {Distribution::gaussian, Distribution::bernoulli}) {
      const ShrunkenCase in = shrunken(distribution, slab);
      expect_gradient(*make_mixed(in.data, in.priors, in.family), 1e-5);
    }
}

// Given the scales the shrunken coefficients are normal: the density is that of normal priors with these sds,
// times the half-Cauchy densities of the scales and the inverse gamma one of the slab's variance.
TEST(HorseshoeBesideGroups, IsANormalPriorGivenItsScales) {
  ShrunkenCase in = shrunken(Distribution::gaussian, 2.0);
  const auto model = make_mixed(in.data, in.priors, in.family);
  Vector theta(7);
  theta << -.1, -.5, .3, -1, .6, -.8, .4;  // log sigma, log sd, log lambda[3], log tau, log c
  double expected = 0;
  const auto half_cauchy = [](double x, double scale) {
    return std::log(2 / (std::numbers::pi * scale * (1 + x * x / (scale * scale)))) + std::log(x);
  };
  for (Index j = 0; j < 3; ++j) expected += half_cauchy(std::exp(theta(2 + j)), 1);
  expected += half_cauchy(std::exp(theta(5)), .5);
  // c^2 ~ inverse gamma(2, 8): 8^2 / Gamma(2) (c^2)^-3 exp(-8 / c^2), and d c^2 / d log c = 2 c^2.
  const double c2 = std::exp(2 * theta(6));
  expected += 2 * std::log(8.0) - 3 * std::log(c2) - 8 / c2 + std::log(2 * c2);
  for (Index j = 0; j < 3; ++j) {
    const double local = std::exp(2 * (theta(2 + j) + theta(5)));
    in.priors.scale(2 + j) = 1 / std::sqrt(1 / local + 1 / c2);
  }
  in.priors.horseshoes.clear();
  const auto normal = make_mixed(in.data, in.priors, in.family);
  expected += evaluate(normal->model(), theta.head(2));
  EXPECT_NEAR(evaluate(model->model(), theta), expected, 1e-8 * std::abs(expected));
  EXPECT_EQ(model->population_names().back(), "c");
}

}  // namespace
}  // namespace magva
