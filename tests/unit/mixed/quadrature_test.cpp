// Responses that are not gaussian: integrals against sums over fine grids, gradients against differences, and
// a simulated mixed logistic regression against MCMC.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "magva/check_gradient.hpp"
#include "mixed/group_integral.hpp"
#include "mixed/hermite.hpp"
#include "unit/mixed/simulated.hpp"

namespace magva {
namespace {

using mixed_test::evaluate;

std::shared_ptr<const ResponseFamily> family(Distribution distribution, const Vector& response) {
  return make_response_family(distribution, default_link(distribution),
                              default_own_parameters(distribution, response));
}

struct Grouped {
  MixedData data;
  MixedPriors priors;
  std::shared_ptr<const ResponseFamily> family;
  std::unique_ptr<const MixedModel> model() const { return make_mixed(data, priors, family); }
};

// Rows with a design of two columns, and responses that any of the families may have.
Grouped rows_of(Distribution distribution, Index rows, std::vector<GroupTerm> terms,
                std::mt19937_64& generator) {
  Grouped out{{Design::own(mixed_test::random_design(rows, generator)), Vector(rows), {}, {}, {}, {}, {}, {}},
              {},
              {}};
  out.data.terms = std::move(terms);
  std::poisson_distribution<int> poisson(2);
  for (Index i = 0; i < rows; ++i) {
    const int count = poisson(generator);
    out.data.response(i) = distribution == Distribution::bernoulli ? count % 2
                           : distribution == Distribution::gamma   ? .3 + count
                                                                   : count;
  }
  out.priors = mixed_test::weak_priors(out.data);
  out.family = family(distribution, out.data.response);
  return out;
}

GroupTerm blocks(const std::string& name, Index rows, Index size) {
  GroupTerm term;
  term.name = name;
  term.levels = mixed_test::level_names(rows / size);
  for (Index i = 0; i < rows; ++i) term.group.push_back(static_cast<std::int32_t>(i / size));
  return term;
}

TEST(Hermite, MomentsOfTheNormal) {
  const mixed::HermiteRule rule = mixed::hermite_rule(7, 2);
  double fourth = 0, mixed_moment = 0, total = 0;
  for (Index k = 0; k < rule.size(); ++k) {
    const auto x = rule.points.col(k);
    const double weight = std::exp(rule.log_weights(k) - .5 * x.squaredNorm());
    total += weight;
    fourth += weight * std::pow(x(0), 4);
    mixed_moment += weight * x(0) * x(0) * x(1) * x(1);
  }
  EXPECT_NEAR(total, 1, 1e-12);
  EXPECT_NEAR(fourth, 3, 1e-11);
  EXPECT_NEAR(mixed_moment, 1, 1e-11);
}

// The coefficients' prior, whose location is zero and scale 2.5, and that of an sd at its coordinate.
double priors_at(ConstVectorRef theta, Index sds) {
  double sum = 0;
  for (Index j = 0; j < 2; ++j)
    sum -= .5 * theta(j) * theta(j) / 6.25 + std::log(2.5) + .5 * std::log(2 * std::numbers::pi);
  for (Index k = 0; k < sds; ++k) sum += PositivePrior::half_student_t(3, 2.5).at(theta(2 + k)).value;
  return sum;
}

double row_log_density(const Grouped& in, Index row, double eta) {
  const ResponseRows one =
      ResponseRows{in.data.response.data(), nullptr, nullptr, in.data.response.size()}.from(row, 1);
  double value = 0, constant = 0;
  in.family->log_density(one, &eta, nullptr, &value);
  in.family->constants(one, &constant);
  return value + constant;
}

Vector predictors(const Grouped& in, ConstVectorRef theta) {
  const auto& rows = std::get<DenseRows<double>>(in.data.design.storage());
  return Eigen::Map<const RowMatrix>(rows.data, rows.rows, rows.cols) * theta.head(2);
}

TEST(Quadrature, OneInterceptLikeASumOverAFineGrid) {
  std::mt19937_64 generator(1);
  Grouped in = rows_of(Distribution::bernoulli, 30, {blocks("g", 30, 5)}, generator);
  in.data.terms[0].levels.push_back("empty");
  const auto model = in.model();
  EXPECT_EQ(model->method(), MixedMethod::quadrature);
  Vector theta(3);
  for (const double log_sd : {-2.0, 0.0, 1.2}) {
    theta << -.3, .5, log_sd;
    const Vector eta = predictors(in, theta);
    double expected = priors_at(theta, 1);
    for (Index g = 0; g < 6; ++g) {
      double sum = 0;
      for (double v = -9; v < 9; v += .001) {
        double log_density = 0;
        for (Index i = 5 * g; i < 5 * g + 5; ++i)
          log_density += row_log_density(in, i, eta(i) + std::exp(log_sd) * v);
        sum += .001 * mixed_test::normal_density(v) * std::exp(log_density);
      }
      expected += std::log(sum);
    }
    EXPECT_NEAR(evaluate(model->model(), theta), expected, 2e-5);
  }
}

TEST(Quadrature, NestedInterceptsLikeSumsOverFineGrids) {
  std::mt19937_64 generator(2);
  Grouped in =
      rows_of(Distribution::poisson, 12, {blocks("inner", 12, 2), blocks("outer", 12, 6)}, generator);
  const auto model = in.model();
  EXPECT_EQ(model->method(), MixedMethod::quadrature);
  Vector theta(4);
  theta << .4, .2, -.4, -.1;  // sd of the inner groups first, as in the data
  const Vector eta = predictors(in, theta);
  double expected = priors_at(theta, 2);
  const double step = .02;
  for (Index outer = 0; outer < 2; ++outer) {
    double sum = 0;
    for (double v = -7; v < 7; v += step) {
      double product = mixed_test::normal_density(v);
      for (Index inner = 3 * outer; inner < 3 * outer + 3; ++inner) {
        double part = 0;
        for (double w = -7; w < 7; w += step) {
          double log_density = 0;
          for (Index i = 2 * inner; i < 2 * inner + 2; ++i)
            log_density += row_log_density(in, i, eta(i) + std::exp(theta(3)) * v + std::exp(theta(2)) * w);
          part += step * mixed_test::normal_density(w) * std::exp(log_density);
        }
        product *= part;
      }
      sum += step * product;
    }
    expected += std::log(sum);
  }
  EXPECT_NEAR(evaluate(model->model(), theta), expected, 2e-6);
}

// The gradient is an expectation under the quadrature, not the derivative of its value: the two differ by the
// quadrature's own error, which with as many points as HermiteRules takes is as the bounds say; a thousandth
// of a gradient moves a posterior mean by less than a thousandth of its sd.
void expect_gradient(const Grouped& in, double tolerance) {
  const auto model = in.model();
  for (const double shift : {-.4, .3}) {
    const Vector theta =
        model->model().start() + Vector::LinSpaced(model->model().dimension(), shift, .5 * shift + .1);
    const GradientCheck check = check_gradient(model->model(), theta, {.tolerance = tolerance});
    EXPECT_TRUE(check.passed) << to_string(in.family->distribution()) << ": " << check.sentence;
  }
}

// Three levels, the innermost of one row each, whose integrals are interpolated: against sums over grids of
// spacing .25, which are exact to rounding for functions as smooth as these.
TEST(Quadrature, ThreeNestedLevelsLikeSumsOverGrids) {
  std::mt19937_64 generator(7);
  Grouped in = rows_of(Distribution::poisson, 16,
                       {blocks("row", 16, 1), blocks("inner", 16, 4), blocks("outer", 16, 8)}, generator);
  const auto model = in.model();
  EXPECT_EQ(model->method(), MixedMethod::quadrature);
  Vector theta(5);
  theta << .4, .2, -.6, -.4, -.2;  // sds of rows, inner and outer groups
  const Vector eta = predictors(in, theta);
  const double step = .25;
  const auto integral = [&](const auto& of) {
    double sum = 0;
    for (double v = -6; v <= 6; v += step) sum += step * mixed_test::normal_density(v) * of(v);
    return sum;
  };
  double expected = priors_at(theta, 3);
  for (Index outer = 0; outer < 2; ++outer)
    expected += std::log(integral([&](double u) {
      double product = 1;
      for (Index inner = 2 * outer; inner < 2 * outer + 2; ++inner)
        product *= integral([&](double v) {
          double rows = 1;
          for (Index i = 4 * inner; i < 4 * inner + 4; ++i)
            rows *= integral([&](double w) {
              return std::exp(row_log_density(
                  in, i, eta(i) + std::exp(theta(4)) * u + std::exp(theta(3)) * v + std::exp(theta(2)) * w));
            });
          return rows;
        });
      return product;
    }));
  // 7 points at each level, and interpolation.
  EXPECT_NEAR(evaluate(model->model(), theta), expected, 2e-3);
  Workers workers(1);
  EXPECT_NEAR(model->log_densities(theta, workers)(0), evaluate(model->model(), theta), 1e-4);
  expect_gradient(in, 2e-2);
}

TEST(Quadrature, GradientsOfOneFactor) {
  std::mt19937_64 generator(3);
  for (const Distribution distribution : {Distribution::bernoulli, Distribution::poisson,
                                          Distribution::negative_binomial, Distribution::gamma}) {
    expect_gradient(rows_of(distribution, 60, {mixed_test::random_term("g", 60, 9, 1, generator)}, generator),
                    1e-5);
    expect_gradient(rows_of(distribution, 60, {mixed_test::random_term("g", 60, 9, 2, generator)}, generator),
                    5e-4);
  }
  expect_gradient(
      rows_of(Distribution::poisson, 60, {mixed_test::random_term("g", 60, 9, 3, generator)}, generator),
      1e-2);
}

TEST(Quadrature, GradientsOfNestedFactors) {
  std::mt19937_64 generator(4);
  for (const Distribution distribution : {Distribution::bernoulli, Distribution::negative_binomial}) {
    Grouped in = rows_of(distribution, 60, {blocks("a", 60, 12), blocks("b", 60, 4)}, generator);
    in.data.weights = Vector::LinSpaced(60, .5, 1.5);
    in.priors.degrees_of_freedom = Vector::Constant(2, 5.0);
    expect_gradient(in, 1e-4);
  }
}

TEST(Quadrature, AnyNumberOfThreadsAndOrderOfRows) {
  std::mt19937_64 generator(5);
  const Grouped in =
      rows_of(Distribution::bernoulli, 600, {mixed_test::random_term("g", 600, 80, 1, generator)}, generator);
  const auto model = in.model();
  const Vector theta = model->model().start();
  EXPECT_EQ(evaluate(model->model(), theta, 1), evaluate(model->model(), theta, 3));
  Workers one(1), three(3);
  const Matrix draws = theta.replicate(1, 4);
  EXPECT_EQ(
      (model->draw(draws, 7, one).effects[0] - model->draw(draws, 7, three).effects[0]).cwiseAbs().maxCoeff(),
      0);
}

// Values alone are by fewer points, and near enough to those that come with gradients.
TEST(Quadrature, ValuesAloneAreNearThoseWithGradients) {
  std::mt19937_64 generator(8);
  Workers workers(2);
  for (const Index effects : {1, 2, 3})
    for (const Distribution distribution : {Distribution::bernoulli, Distribution::poisson}) {
      const Grouped in =
          rows_of(distribution, 60, {mixed_test::random_term("g", 60, 9, effects, generator)}, generator);
      const auto model = in.model();
      const Vector theta = model->model().start();
      EXPECT_NEAR(model->log_densities(theta, workers)(0), evaluate(model->model(), theta),
                  effects == 1 ? 1e-3 : 1e-2);
    }
}

// A wide posterior of an effect, of which a few points would know little: 9 groups of one row each.
TEST(Quadrature, WideEffectsTakeMorePoints) {
  std::mt19937_64 generator(9);
  const Grouped in = rows_of(Distribution::poisson, 9, {blocks("g", 9, 1)}, generator);
  Vector theta(3);
  theta << -1, .5, 1.2;
  const Vector eta = predictors(in, theta);
  double expected = priors_at(theta, 1);
  for (Index i = 0; i < 9; ++i) {
    double sum = 0;
    for (double v = -9; v < 9; v += .001)
      sum +=
          .001 * mixed_test::normal_density(v) * std::exp(row_log_density(in, i, eta(i) + std::exp(1.2) * v));
    expected += std::log(sum);
  }
  EXPECT_NEAR(evaluate(in.model()->model(), theta), expected, 2e-3);
}

TEST(HermiteRules, MorePointsForWiderEffectsAndForGradients) {
  const mixed::HermiteRules rules(1);
  Index before = 0;
  for (const double spread : {.1, .3, .6, 1.0, 2.0, 5.0}) {
    const Index points = rules.for_spread(spread, mixed::Accuracy::gradient).size();
    EXPECT_GE(points, before);
    EXPECT_LE(rules.for_spread(spread, mixed::Accuracy::value).size(), points);
    before = points;
  }
  EXPECT_EQ(before, rules.most_points());
  EXPECT_EQ(rules.for_spread(std::nan(""), mixed::Accuracy::value).size(), rules.most_points());
}

// Effects of rows by tables that rows with equal responses share, and each by its own integral: weights that
// differ in the last digits make the responses differ.
TEST(Quadrature, TablesOfRowEffectsLikeTheirIntegrals) {
  std::mt19937_64 generator(10);
  for (const Distribution distribution : {Distribution::poisson, Distribution::negative_binomial}) {
    Grouped in = rows_of(distribution, 120, {blocks("row", 120, 1), blocks("g", 120, 6)}, generator);
    in.data.weights = Vector::Ones(120);
    const auto shared = in.model();
    in.data.weights = Vector::LinSpaced(120, 1, 1 + 1e-10);
    const auto own = in.model();
    Workers workers(1);
    const Index m = shared->model().dimension();
    for (const double shift : {-.5, .0, .4}) {
      const Vector theta = shared->model().start() + Vector::LinSpaced(m, shift, -.5 * shift);
      Vector value(1);
      Matrix by_tables(m, 1), by_integrals(m, 1);
      const std::unique_ptr<Scratch> scratch = shared->model().make_scratch(1);
      Evaluation evaluation{*scratch, workers, 0};
      own->model().evaluate(theta, value, by_integrals, evaluation);
      const double expected = value(0);
      shared->model().evaluate(theta, value, by_tables, evaluation);
      EXPECT_NEAR(value(0), expected, 1e-4);
      EXPECT_LT((by_tables - by_integrals).cwiseAbs().maxCoeff(),
                1e-3 * (1 + by_integrals.cwiseAbs().maxCoeff()));
      EXPECT_NEAR(shared->log_densities(theta, workers)(0), expected, 1e-2);
    }
  }
}

// Effects drawn given theta have the mean and sd that sums over a grid give.
TEST(Quadrature, EffectsFollowTheirConditionalDistribution) {
  std::mt19937_64 generator(6);
  const Grouped in = rows_of(Distribution::bernoulli, 30, {blocks("g", 30, 5)}, generator);
  const auto model = in.model();
  Vector theta(3);
  theta << -.3, .5, .3;
  const Index draws = 3000;
  Workers workers(2);
  const MixedDraws drawn = model->draw(theta.replicate(1, draws), 3, workers);
  const Vector eta = predictors(in, theta);
  for (Index g = 0; g < 6; ++g) {
    double sum = 0, first = 0, second = 0;
    for (double v = -8; v < 8; v += .01) {
      double log_density = 0;
      const double u = std::exp(.3) * v;
      for (Index i = 5 * g; i < 5 * g + 5; ++i) log_density += row_log_density(in, i, eta(i) + u);
      const double weight = mixed_test::normal_density(v) * std::exp(log_density);
      sum += weight;
      first += weight * u;
      second += weight * u * u;
    }
    const double mean = first / sum, sd = std::sqrt(second / sum - mean * mean);
    const double found = drawn.effects[0].row(g).mean();
    // 4 standard errors.
    EXPECT_NEAR(found, mean, 4 * sd / std::sqrt(static_cast<double>(draws)));
    const double spread = std::sqrt((drawn.effects[0].row(g).array() - found).square().mean());
    EXPECT_NEAR(spread / sd, 1, 4 / std::sqrt(2.0 * static_cast<double>(draws)));
  }
}

// The effect of a row in a group: moments by sums over a grid of both effects.
TEST(Quadrature, NestedEffectsFollowTheirConditionalDistribution) {
  std::mt19937_64 generator(11);
  const Grouped in =
      rows_of(Distribution::poisson, 24, {blocks("row", 24, 1), blocks("g", 24, 3)}, generator);
  const auto model = in.model();
  Vector theta(4);
  theta << .4, .2, -.3, -.2;  // sds of rows and of groups
  const Index draws = 16'000;
  Workers workers(2);
  const MixedDraws drawn = model->draw(theta.replicate(1, draws), 3, workers);
  const Vector eta = predictors(in, theta);
  const double step = .1, row_sd = std::exp(-.3), group_sd = std::exp(-.2);
  for (Index g = 0; g < 8; ++g) {
    double sum = 0, group_first = 0, group_second = 0, row_first = 0, row_second = 0;
    for (double v = -6; v <= 6; v += step) {
      double product = mixed_test::normal_density(v), first = 0, second = 0;
      for (Index i = 3 * g; i < 3 * g + 3; ++i) {
        double own = 0, one = 0, two = 0;
        for (double w = -6; w <= 6; w += step) {
          const double weight = mixed_test::normal_density(w) *
                                std::exp(row_log_density(in, i, eta(i) + group_sd * v + row_sd * w));
          own += weight;
          one += weight * row_sd * w;
          two += weight * row_sd * row_sd * w * w;
        }
        if (i == 3 * g) {
          first = one / own;
          second = two / own;
        }
        product *= own;
      }
      sum += product;
      group_first += product * group_sd * v;
      group_second += product * group_sd * group_sd * v * v;
      row_first += product * first;
      row_second += product * second;
    }
    const auto expect = [&](const auto& found, double first, double second) {
      const double mean = first / sum, sd = std::sqrt(second / sum - mean * mean);
      EXPECT_NEAR(found.mean(), mean, 4 * sd / std::sqrt(static_cast<double>(draws)));
      const double spread = std::sqrt((found.array() - found.mean()).square().mean());
      EXPECT_NEAR(spread / sd, 1, 4 / std::sqrt(2.0 * static_cast<double>(draws)));
    };
    expect(drawn.effects[1].row(g), group_first, group_second);
    expect(drawn.effects[0].row(3 * g), row_first, row_second);
  }
}

}  // namespace
}  // namespace magva
