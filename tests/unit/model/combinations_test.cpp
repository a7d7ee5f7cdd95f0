// Every likelihood with every prior on every design: right gradients, and the same bits or numbers wherever
// two ways must agree.
#include <cmath>
#include <limits>
#include <set>

#include "magva/check_gradient.hpp"
#include "unit/model/support.hpp"

namespace magva::testing {
namespace {

enum class Response { logistic, linear, linear_known_noise, poisson, robust };
enum class Prior { normal, centred, noncentred, autoregressive };
enum class Storage { dense, single, sparse };

Vector response_for(Response kind, Index n) {
  switch (kind) {
    case Response::logistic:
      return zero_one(n, 11);
    case Response::poisson:
      return counts(n, 12);
    default:
      return normal_matrix(n, 1, 13, 2.0).col(0);
  }
}

std::shared_ptr<const Likelihood> likelihood_for(Response kind) {
  switch (kind) {
    case Response::logistic:
      return bernoulli_logit();
    case Response::linear:
      return gaussian(2.5);
    case Response::linear_known_noise:
      return gaussian_known_noise(0.7);
    case Response::poisson:
      return poisson_log();
    default:
      return outlier_mixture({});
  }
}

PriorOptions prior_for(Prior kind) {
  switch (kind) {
    case Prior::normal:
      return NormalPriorOptions{};
    case Prior::centred:
      return HorseshoeOptions{HorseshoeForm::centred, 10.0, 0.5, {}};
    case Prior::noncentred:
      return HorseshoeOptions{HorseshoeForm::noncentred, 10.0, 2.0, {}};
    default:
      return AutoregressivePriorOptions{};
  }
}

Design design_for(Storage kind, const RowMatrix& x) {
  switch (kind) {
    case Storage::dense:
      return Design::own(x);
    case Storage::single:
      return Design::own(SingleRowMatrix(x.cast<float>()));
    default:
      return Design::own(to_sparse(x));
  }
}

Regression make_model(Response response, Prior prior, const Design& design, const Vector& weights = {}) {
  return {{design, response_for(response, design.rows()), weights, {}},
          likelihood_for(response),
          make_prior(prior_for(prior), design.cols())};
}

class Combination : public ::testing::TestWithParam<std::tuple<Response, Prior>> {
 protected:
  Response response() const { return std::get<0>(GetParam()); }
  Prior prior() const { return std::get<1>(GetParam()); }
};

TEST_P(Combination, GradientIsTheDerivativeForEveryDesign) {
  // Fewer columns than a vector has, whole vectors, and vectors with a rest; rows with and without a rest.
  for (const auto& [rows, cols] : {std::pair<Index, Index>{13, 3}, {24, 16}, {29, 21}}) {
    const RowMatrix x = random_design(rows, cols, 5);
    const Vector weights = normal_matrix(rows, 1, 6).col(0).cwiseAbs();
    for (const Storage storage : {Storage::dense, Storage::single, Storage::sparse}) {
      const Regression model = make_model(response(), prior(), design_for(storage, x), weights);
      for (unsigned seed = 0; seed < 3; ++seed) {
        const Vector theta = normal_matrix(model.dimension(), 1, 20 + seed, 0.5).col(0);
        const GradientCheck check = check_gradient(model, theta);
        EXPECT_TRUE(check.passed) << check.sentence;
      }
    }
  }
}

TEST_P(Combination, DenseSparseAndSingleAgree) {
  const RowMatrix x = random_design(83, 19, 7);
  const RowMatrix rounded = x.cast<float>().cast<double>();
  const Regression dense = make_model(response(), prior(), design_for(Storage::dense, rounded));
  const Matrix theta = normal_matrix(dense.dimension(), 11, 8, 0.3);
  const Evaluated expected = evaluate(dense, theta);
  for (const Storage storage : {Storage::single, Storage::sparse}) {
    const Evaluated found = evaluate(make_model(response(), prior(), design_for(storage, rounded)), theta);
    const double scale = 1.0 + expected.gradient.cwiseAbs().maxCoeff();
    EXPECT_LT((found.gradient - expected.gradient).cwiseAbs().maxCoeff(), 1e-12 * scale);
    EXPECT_LT((found.log_density - expected.log_density).cwiseAbs().maxCoeff(),
              1e-12 * (1.0 + expected.log_density.cwiseAbs().maxCoeff()));
  }
}

TEST_P(Combination, SameBitsForAnyNumberOfThreads) {
  // Large enough for several lanes.
  const RowMatrix x = random_design(5003, 57, 9);
  for (const Storage storage : {Storage::dense, Storage::single, Storage::sparse}) {
    const Regression model = make_model(response(), prior(), design_for(storage, x));
    const Matrix theta = normal_matrix(model.dimension(), 13, 10, 0.1);
    const Evaluated one = evaluate(model, theta, 1);
    for (const int threads : {2, 4}) {
      const Evaluated several = evaluate(model, theta, threads);
      EXPECT_EQ(several.log_density, one.log_density);
      EXPECT_EQ(several.gradient, one.gradient);
    }
  }
}

TEST_P(Combination, DrawsTogetherAreDrawsOneByOne) {
  // Columns with and without a rest; draws that fill packs, leave a lane to spare, or have others beside
  // packs.
  for (const Index columns : {3, 24, 57}) {
    const RowMatrix x = random_design(2051, columns, 9);
    for (const Storage storage : {Storage::dense, Storage::single, Storage::sparse}) {
      const Regression model = make_model(response(), prior(), design_for(storage, x));
      const Matrix theta = normal_matrix(model.dimension(), 23, 10, 0.1);
      Evaluated alone{Vector(theta.cols()), Matrix(theta.rows(), theta.cols())};
      for (Index s = 0; s < theta.cols(); ++s) {
        const Evaluated one = evaluate(model, theta.col(s));
        alone.log_density(s) = one.log_density(0);
        alone.gradient.col(s) = one.gradient;
      }
      for (const Index draws : {2, 3, 5, 7, 8, 12, 15, 23}) {
        const Evaluated together = evaluate(model, theta.leftCols(draws), 2);
        EXPECT_LT((together.log_density - alone.log_density.head(draws)).cwiseAbs().maxCoeff(),
                  1e-13 * alone.log_density.cwiseAbs().maxCoeff())
            << draws << " draws, " << columns << " columns";
        EXPECT_LT((together.gradient - alone.gradient.leftCols(draws)).cwiseAbs().maxCoeff(),
                  1e-12 * alone.gradient.cwiseAbs().maxCoeff())
            << draws << " draws, " << columns << " columns";
      }
    }
  }
}

TEST_P(Combination, WeightEqualsCopies) {
  const Index n = 21;
  const RowMatrix x = random_design(n, 9, 14);
  const Vector y = response_for(response(), n);
  Vector weights(n);
  std::vector<Index> copies;
  for (Index i = 0; i < n; ++i) {
    weights(i) = static_cast<double>(i % 4);
    copies.insert(copies.end(), static_cast<std::size_t>(i % 4), i);
  }
  const Regression weighted = make_model(response(), prior(), Design::own(x), weights);
  const Regression copied({Design::own(RowMatrix(x(copies, Eigen::all))), Vector(y(copies)), {}, {}},
                          likelihood_for(response()), make_prior(prior_for(prior()), x.cols()));
  const Matrix theta = normal_matrix(weighted.dimension(), 3, 15, 0.5);
  const Evaluated a = evaluate(weighted, theta);
  const Evaluated b = evaluate(copied, theta);
  EXPECT_LT((a.log_density - b.log_density).cwiseAbs().maxCoeff(),
            1e-11 * a.log_density.cwiseAbs().maxCoeff());
  EXPECT_LT((a.gradient - b.gradient).cwiseAbs().maxCoeff(),
            1e-11 * (1.0 + a.gradient.cwiseAbs().maxCoeff()));
}

TEST_P(Combination, StartIsFiniteAndNamesAreDistinct) {
  const Regression model = make_model(response(), prior(), Design::own(random_design(30, 6, 16)));
  const Evaluated found = evaluate(model, model.start());
  EXPECT_TRUE(std::isfinite(found.log_density(0)));
  EXPECT_TRUE(found.gradient.allFinite());
  std::set<std::string> names;
  for (Index i = 0; i < model.dimension(); ++i) names.insert(model.parameter_name(i));
  EXPECT_EQ(static_cast<Index>(names.size()), model.dimension());
}

TEST_P(Combination, NanInTheDrawGivesNoFiniteDensityAndLeavesOthersAlone) {
  const Regression model = make_model(response(), prior(), Design::own(random_design(30, 6, 17)));
  Matrix theta = normal_matrix(model.dimension(), 9, 18, 0.2);
  const Evaluated clean = evaluate(model, theta);
  for (Index i = 0; i < model.dimension(); ++i) {
    Matrix spoilt = theta;
    spoilt(i, 2) = std::numeric_limits<double>::quiet_NaN();
    const Evaluated found = evaluate(model, spoilt);
    EXPECT_FALSE(std::isfinite(found.log_density(2))) << model.parameter_name(i);
    for (const Index other : {0, 1, 3, 7, 8}) {
      EXPECT_EQ(found.log_density(other), clean.log_density(other));
      EXPECT_EQ(Vector(found.gradient.col(other)), Vector(clean.gradient.col(other)));
    }
  }
}

std::string combination_name(const ::testing::TestParamInfo<std::tuple<Response, Prior>>& info) {
  static const char* const responses[] = {"Logistic", "Linear", "LinearKnownNoise", "Poisson", "Robust"};
  static const char* const priors[] = {"Normal", "Centred", "Noncentred", "Autoregressive"};
  return std::string(responses[static_cast<int>(std::get<0>(info.param))]) +
         priors[static_cast<int>(std::get<1>(info.param))];
}

INSTANTIATE_TEST_SUITE_P(Models, Combination,
                         ::testing::Combine(::testing::Values(Response::logistic, Response::linear,
                                                              Response::linear_known_noise, Response::poisson,
                                                              Response::robust),
                                            ::testing::Values(Prior::normal, Prior::centred,
                                                              Prior::noncentred, Prior::autoregressive)),
                         combination_name);

}  // namespace
}  // namespace magva::testing
