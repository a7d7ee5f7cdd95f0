// A regression cut into rows and priors, and into shares of its rows, is the same regression.
#include "magva/distribute.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "magva/error.hpp"
#include "magva/family_regression.hpp"
#include "magva/fit.hpp"
#include "magva/minibatch.hpp"
#include "scale/likelihood_model.hpp"
#include "scale/row_sections.hpp"
#include "support/thread_ranks.hpp"
#include "unit/model/support.hpp"

namespace magva {
namespace {

using test::ThreadRanks;
using testing::evaluate;
using testing::Evaluated;
using testing::normal_matrix;

/// Calls work(model) with the model on the rows of so many ranks.
template <class Work>
void on_ranks(const Regression& regression, int size, Work&& work) {
  ThreadRanks ranks(size);
  const auto whole = std::make_shared<const Regression>(regression);
  std::vector<std::jthread> others;
  for (int r = 1; r < size; ++r)
    others.emplace_back([&, r] {
      ThreadRanks::Rank rank(ranks, r);
      EXPECT_EQ(distribute(share_of(regression, r, size), rank,
                           {.start = regression.start(), .device = {}, .threads = 1, .whole = whole}),
                nullptr);
    });
  ThreadRanks::Rank leader(ranks, 0);
  const auto model = distribute(share_of(regression, 0, size), leader,
                                {.start = regression.start(), .device = {}, .threads = 1, .whole = whole});
  work(*model);
}

struct Case {
  std::string name;
  Regression model;
};

std::vector<Case> cases() {
  constexpr Index kRows = 203;
  constexpr Index kCols = 6;
  const RowMatrix x = testing::random_design(kRows, kCols, 1);
  const Vector weights = (normal_matrix(kRows, 1, 2).array().abs() + .1).matrix().col(0);
  const Vector numbers = normal_matrix(kRows, 1, 3).col(0);
  const auto data = [&](Vector y, bool weighted) {
    return RegressionData{Design::own(x), std::move(y), weighted ? weights : Vector(), {}};
  };
  std::vector<Case> all;
  all.push_back({"logistic", logistic_regression(data(testing::zero_one(kRows, 4), false))});
  all.push_back({"weighted Poisson", poisson_regression(data(testing::counts(kRows, 5), true))});
  all.push_back({"linear", linear_regression(data(numbers, true))});
  all.push_back({"known noise", linear_regression(data(numbers, false), NormalPriorOptions{},
                                                  {.noise_sd = .5, .sigma_prior_scale = {}})});
  all.push_back({"centred horseshoe",
                 linear_regression(data(numbers, false),
                                   HorseshoeOptions{.form = HorseshoeForm::centred, .start_log_tau = {}})});
  all.push_back({"non-centred horseshoe",
                 logistic_regression(data(testing::zero_one(kRows, 6), false), HorseshoeOptions{})});
  all.push_back(
      {"sparse",
       logistic_regression({Design::own(testing::to_sparse(x)), testing::zero_one(kRows, 7), weights, {}})});
  const auto family = [&](Distribution distribution, Link link, Vector y) {
    RegressionData rows = data(std::move(y), true);
    rows.offset = Vector::LinSpaced(kRows, -.3, .3);
    if (allows_censoring(distribution)) rows.status = testing::zero_one(kRows, 8);
    if (distribution == Distribution::binomial)
      rows.trials = rows.response + testing::counts(kRows, 15) + Vector::Ones(kRows);
    return family_regression(std::move(rows), distribution, link, make_prior(NormalPriorOptions{}, kCols));
  };
  const Vector positive = numbers.array().exp();
  all.push_back({"Student-t", family(Distribution::student_t, Link::identity, numbers)});
  all.push_back({"Weibull", family(Distribution::weibull, Link::log, positive)});
  all.push_back(
      {"negative binomial", family(Distribution::negative_binomial, Link::log, testing::counts(kRows, 9))});
  all.push_back({"binomial", family(Distribution::binomial, Link::logit, testing::counts(kRows, 16))});
  all.push_back({"probit", family(Distribution::bernoulli, Link::probit, testing::zero_one(kRows, 10))});
  return all;
}

void expect_same(const Model& a, const Model& b) {
  ASSERT_EQ(a.dimension(), b.dimension());
  EXPECT_EQ(a.start(), b.start());
  for (Index i = 0; i < b.dimension(); ++i) EXPECT_EQ(a.parameter_name(i), b.parameter_name(i));
  for (const Index draws : {1, 5}) {
    const Matrix theta = normal_matrix(b.dimension(), draws, 11, .3);
    const Evaluated x = evaluate(a, theta);
    const Evaluated y = evaluate(b, theta);
    EXPECT_LT((x.log_density - y.log_density).cwiseAbs().maxCoeff(),
              1e-12 * y.log_density.cwiseAbs().maxCoeff());
    EXPECT_LT((x.gradient - y.gradient).cwiseAbs().maxCoeff(), 1e-12 * y.gradient.cwiseAbs().maxCoeff());
  }
}

struct Expected {
  double value, dense_value;
  Vector gradient, dense_gradient;
  CurvatureProducts products;
  Matrix curvature;
};

Expected expect(const Model& model, const GaussianView& q) {
  Workers workers(1);
  const auto scratch = model.expectations()->make_scratch(q.factors.cols());
  Evaluation evaluation{*scratch, workers};
  Expected out{0, 0, Vector(model.dimension()), Vector(model.dimension()), {}, {}};
  out.value = model.expectations()->expect(q, out.gradient, out.products, evaluation);
  out.dense_value = model.expectations()->expect(q, out.dense_gradient, out.curvature, evaluation);
  return out;
}

void expect_same_expectations(const Model& a, const Model& b) {
  ASSERT_EQ(a.expectations() == nullptr, b.expectations() == nullptr);
  if (b.expectations() == nullptr) return;
  EXPECT_EQ(a.expectations()->log_concave(), b.expectations()->log_concave());
  EXPECT_EQ(a.expectations()->terms(), b.expectations()->terms());
  const Index m = b.dimension();
  const Vector mean = normal_matrix(m, 1, 12, .3).col(0);
  const Matrix factors = normal_matrix(m, 3, 13, .2);
  const Vector residual = normal_matrix(m, 1, 14, .2).cwiseAbs().col(0);
  for (const Vector& sd : {residual, Vector()}) {
    const Expected x = expect(a, {mean, factors, sd});
    const Expected y = expect(b, {mean, factors, sd});
    const auto close = [](const auto& p, const auto& q) {
      // Shares add up in another order, and end their blocks elsewhere: up to 2.3e-12 was seen.
      EXPECT_LT((p - q).cwiseAbs().maxCoeff(), 1e-11 * (1 + q.cwiseAbs().maxCoeff()));
    };
    EXPECT_NEAR(x.value, y.value, 1e-12 * std::abs(y.value));
    EXPECT_NEAR(x.dense_value, y.dense_value, 1e-12 * std::abs(y.dense_value));
    close(x.gradient, y.gradient);
    close(x.dense_gradient, y.dense_gradient);
    close(x.products.times_factors, y.products.times_factors);
    close(x.products.diagonal, y.products.diagonal);
    close(x.curvature, y.curvature);
  }
  const auto x = a.expectations()->predictor_terms({mean, factors, Vector()});
  const auto y = b.expectations()->predictor_terms({mean, factors, Vector()});
  ASSERT_EQ(x.has_value(), y.has_value());
  if (!y) return;
  EXPECT_EQ(x->by_mean, y->by_mean);
}

TEST(Distribute, RowsAndPriorsMakeTheRegression) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const detail::RegressionTerms terms = c.model.terms();
    const detail::RegressionOf whole(terms, detail::make_likelihood_model(c.model), c.model.start(),
                                     std::make_shared<const Regression>(c.model));
    expect_same(whole, c.model);
    expect_same_expectations(whole, c.model);
  }
}

TEST(Distribute, SharesMakeTheRegression) {
  for (const Case& c : cases())
    for (const int size : {1, 3}) {
      SCOPED_TRACE(c.name);
      on_ranks(c.model, size, [&](const Model& model) {
        expect_same(model, c.model);
        expect_same_expectations(model, c.model);
      });
    }
}

TEST(Distribute, FitsToTheSameElboAndRepeatsItsBits) {
  const Regression model = std::move(cases().front().model);
  FitOptions options;
  options.rank = 2;
  const FitResult alone = fit(model, options);
  std::vector<FitResult> results;
  for (const int size : {2, 4, 4})
    on_ranks(model, size, [&](const Model& distributed) { results.push_back(fit(distributed, options)); });
  for (const FitResult& result : results) {
    EXPECT_NEAR(result.elbo, alone.elbo, 1e-10 * std::abs(alone.elbo));
    EXPECT_EQ(result.stopped, alone.stopped);
  }
  EXPECT_EQ(results[1].elbo, results[2].elbo);
  EXPECT_EQ(results[1].posterior.mean(), results[2].posterior.mean());
}

// Batches of so few rows that at times a rank has none of them.
TEST(Distribute, MinibatchesAreThoseOfOneMachine) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto alone = std::make_shared<const Regression>(c.model);
    const Minibatch expected(alone, {4, 1, 3});
    on_ranks(c.model, 3, [&](const Model& model) {
      const Minibatch found(std::shared_ptr<const Model>(std::shared_ptr<void>(), &model), {4, 1, 3});
      ASSERT_EQ(found.rows(), c.model.rows());
      const Matrix theta = normal_matrix(c.model.dimension(), 3, 11, .3);
      for (std::uint64_t iteration = 0; iteration < 20; ++iteration) {
        ASSERT_EQ(found.rows_at(iteration), expected.rows_at(iteration));
        const Evaluated x = evaluate(found, theta, 1, iteration);
        const Evaluated y = evaluate(expected, theta, 1, iteration);
        EXPECT_LT((x.log_density - y.log_density).cwiseAbs().maxCoeff(),
                  1e-12 * y.log_density.cwiseAbs().maxCoeff());
        EXPECT_LT((x.gradient - y.gradient).cwiseAbs().maxCoeff(), 1e-12 * y.gradient.cwiseAbs().maxCoeff());
      }
    });
  }
}

TEST(Distribute, AFitToMinibatchesIsThatOfOneMachine) {
  const auto alone = std::make_shared<const Regression>(std::move(cases()[1].model));
  FitOptions options;
  options.max_iterations = 50;
  options.diagnostic_draws = 200;
  const FitResult expected = fit(Minibatch(alone, {40, 1, 3}), options);
  on_ranks(*alone, 2, [&](const Model& model) {
    const FitResult found =
        fit(Minibatch(std::shared_ptr<const Model>(std::shared_ptr<void>(), &model), {40, 1, 3}), options);
    EXPECT_NEAR(found.elbo, expected.elbo, 1e-8 * std::abs(expected.elbo));
  });
}

// Sums are added in an order of the sections, whoever has them.
TEST(Distribute, DrawsHaveTheBitsOfAnyNumberOfRanks) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Matrix theta = normal_matrix(c.model.dimension(), 3, 11, .3);
    std::vector<Evaluated> all;
    std::vector<Evaluated> batches;
    for (const int size : {1, 2, 3, 4, 7})
      on_ranks(c.model, size, [&](const Model& model) {
        all.push_back(evaluate(model, theta));
        const Minibatch batch(std::shared_ptr<const Model>(std::shared_ptr<void>(), &model), {40, 1, 3});
        batches.push_back(evaluate(batch, theta, 1, 5));
      });
    for (std::size_t k = 1; k < all.size(); ++k) {
      EXPECT_EQ(all[k].log_density, all[0].log_density);
      EXPECT_EQ(all[k].gradient, all[0].gradient);
      EXPECT_EQ(batches[k].log_density, batches[0].log_density);
      EXPECT_EQ(batches[k].gradient, batches[0].gradient);
    }
  }
}

TEST(Distribute, SectionsAreAddedInPairs) {
  for (const Index sections : {1, 2, 8, 64})
    for (int ranks = 1; ranks <= std::min<Index>(sections, 9); ++ranks) {
      const detail::NodeTree tree(sections, ranks);
      // Each node is named by its sections; only neighbours of equal length, the first at an even place, may
      // meet.
      std::vector<std::vector<Range>> nodes;
      for (int r = 0; r < ranks; ++r)
        nodes.push_back(detail::nodes_of(detail::sections_of_rank(sections, r, ranks)));
      std::vector<std::vector<double>> first(nodes.size()), length(nodes.size());
      for (std::size_t r = 0; r < nodes.size(); ++r) {
        first[r].resize(static_cast<std::size_t>(tree.nodes_per_rank()));
        length[r].resize(first[r].size());
        for (std::size_t k = 0; k < nodes[r].size(); ++k) {
          first[r][k] = static_cast<double>(nodes[r][k].begin);
          length[r][k] = static_cast<double>(nodes[r][k].size());
          EXPECT_EQ(nodes[r][k].begin % nodes[r][k].size(), 0);
        }
      }
      std::vector<std::pair<int, Index>> met;
      tree.add_up(1, [&](int rank, Index node) {
        met.emplace_back(rank, node);
        return &first[static_cast<std::size_t>(rank)][static_cast<std::size_t>(node)];
      });
      for (std::size_t k = 0; k < met.size(); k += 2) {
        const auto at = [&](std::size_t j) -> double& {
          return length[static_cast<std::size_t>(met[j].first)][static_cast<std::size_t>(met[j].second)];
        };
        EXPECT_EQ(at(k), at(k + 1));
        at(k) += at(k + 1);
      }
      EXPECT_EQ(length[0][0], static_cast<double>(sections));
    }
}

TEST(Distribute, Algorithm1HasTheBitsOfAnyNumberOfRanks) {
  const Regression model = std::move(cases().front().model);
  FitOptions options;
  options.rank = 2;
  options.algorithm1.emplace();
  options.max_iterations = 200;
  options.diagnostic_draws = 100;
  std::vector<FitResult> results;
  for (const int size : {1, 2, 4})
    on_ranks(model, size, [&](const Model& distributed) { results.push_back(fit(distributed, options)); });
  for (const FitResult& result : results) EXPECT_EQ(result.posterior.mean(), results[0].posterior.mean());
}

TEST(Distribute, MinibatchesNeedRows) {
  class Standard final : public Model {
   public:
    Index dimension() const override { return 1; }
    void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                  Evaluation&) const override {
      log_density = -.5 * theta.row(0).cwiseAbs2().transpose();
      gradient = -theta;
    }
  };
  EXPECT_THROW(Minibatch(std::make_shared<Standard>(), {4, 1, 3}), UsageError);
}

TEST(Distribute, EveryRankNeedsARow) {
  const Regression model = std::move(cases().front().model);
  EXPECT_THROW(share_of(model, 0, 1000), UsageError);
}

}  // namespace
}  // namespace magva
