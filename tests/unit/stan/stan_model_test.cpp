#include "magva/stan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numbers>
#include <thread>

#include "core/evaluator.hpp"
#include "folder.hpp"
#include "libraries.hpp"
#include "magva/error.hpp"
#include "magva/model_source.hpp"

namespace magva::stan {
namespace {

constexpr auto kGaussian = R"({"mean": [1, -2], "covariance": [[4, 1], [1, 2]]})";
constexpr auto kConstrained = R"({"location": 0.5, "spread": 0.3, "alpha": [8, 5, 3]})";

Matrix grid(Index dimension, Index draws) {
  Matrix theta(dimension, draws);
  for (Index s = 0; s < draws; ++s) {
    for (Index i = 0; i < dimension; ++i) theta(i, s) = std::sin(static_cast<double>(1 + i + 7 * s));
  }
  return theta;
}

TEST(StanModel, GivesTheGaussianLogDensityWithItsConstants) {
  const auto model = open_test_model("gaussian", kGaussian);
  ASSERT_EQ(model.dimension(), 2);
  EXPECT_EQ(model.parameter_name(1), "theta[2]");
  EXPECT_EQ(model.name(), "gaussian");

  const auto at_mean = evaluate(model, Vector{{1, -2}});
  EXPECT_NEAR(at_mean.log_density(0), -std::log(2 * std::numbers::pi) - 0.5 * std::log(7.), 1e-14);
  EXPECT_NEAR(at_mean.gradient.norm(), 0, 1e-14);

  const auto beside = evaluate(model, Vector{{2, -2}});
  EXPECT_NEAR(at_mean.log_density(0) - beside.log_density(0), 0.5 * 2. / 7, 1e-14);
  EXPECT_NEAR(beside.gradient(0), -2. / 7, 1e-14);
  EXPECT_NEAR(beside.gradient(1), 1. / 7, 1e-14);
}

TEST(StanModel, AThreadMayBeginWithoutAGradient) {
  const auto model = open_test_model("gaussian", kGaussian);
  ASSERT_TRUE(model.concurrent());
  double value = 0;
  std::thread([&] { value = Evaluator(model, 1).evaluate_values(Vector{{1, -2}})(0); }).join();
  EXPECT_EQ(value, evaluate(model, Vector{{1, -2}}).log_density(0));
  ConstrainedDraws draws;
  std::thread([&] { draws = model.constrain(Vector{{1, -2}}, {}, 1); }).join();
  EXPECT_EQ(draws.failed, 0);
}

// Their summaries are exact: normal and log-normal.
TEST(StanSource, KnowsCoordinatesAndTheirExponentials) {
  const TestFolder folder;
  const auto quantities = [&](const std::string& library, const std::string& data) {
    source::StanOptions options;
    options.file = test_library(library).string();
    options.data = folder.write("data.json", data).string();
    return source::make_stan_source(options).reporter->quantities();
  };
  for (const source::Quantity& quantity : quantities("gaussian", kGaussian)) {
    EXPECT_TRUE(quantity.coordinate.has_value());
    EXPECT_FALSE(quantity.logarithm.has_value());
  }
  const auto constrained = quantities("constrained", kConstrained);
  EXPECT_EQ(constrained.at(0).name, "sigma");
  EXPECT_EQ(constrained.at(0).logarithm, 0);
  for (std::size_t k = 1; k < constrained.size(); ++k) EXPECT_FALSE(constrained[k].exact());
}

TEST(StanModel, GradientIsThatOfTheLogDensity) {
  const auto model = open_test_model("constrained", kConstrained);
  const Matrix theta = grid(3, 1);
  const auto here = evaluate(model, theta);
  constexpr double h = 1e-6;
  for (Index i = 0; i < 3; ++i) {
    const auto slope = (evaluate(model, theta + h * Vector::Unit(3, i)).log_density(0) -
                        evaluate(model, theta - h * Vector::Unit(3, i)).log_density(0)) /
                       (2 * h);
    EXPECT_NEAR(here.gradient(i), slope, 1e-7);
  }
}

TEST(StanModel, WorkersChangeNothing) {
  const auto model = open_test_model("gaussian", kGaussian);
  ASSERT_TRUE(model.concurrent());
  const Matrix theta = grid(2, 33);
  const auto one = evaluate(model, theta, 1);
  const auto four = evaluate(model, theta, 4);
  EXPECT_EQ(one.log_density, four.log_density);
  EXPECT_EQ(one.gradient, four.gradient);
  EXPECT_EQ(Evaluator(model, 1).evaluate_values(theta), one.log_density);
  EXPECT_EQ(Evaluator(model, 4).evaluate_values(theta), one.log_density);
}

TEST(StanModel, EvaluatesOneAfterAnotherWithoutStanThreads) {
  const auto model = open_test_model("constrained", kConstrained);
  EXPECT_FALSE(model.concurrent());
  const auto draws = evaluate(model, grid(3, 9), 4);
  EXPECT_TRUE(draws.log_density.allFinite());
}

TEST(StanModel, ConstrainsUnderStansNames) {
  const auto model = open_test_model("constrained", kConstrained);
  const auto draws = model.constrain(Matrix::Zero(3, 2), {.transformed_parameters = true}, 1);
  EXPECT_EQ(draws.names, (std::vector<std::string>{"sigma", "p[1]", "p[2]", "p[3]", "Sigma[1,1]",
                                                   "Sigma[2,1]", "Sigma[1,2]", "Sigma[2,2]"}));
  const Vector expected{{1, 1. / 3, 1. / 3, 1. / 3, 1, .25, .5, 1}};
  EXPECT_LT((draws.values.colwise() - expected).norm(), 1e-14);
  EXPECT_EQ(draws.failed, 0);
}

TEST(StanModel, LeavesOutTransformedParametersWhereNotWanted) {
  const auto model = open_test_model("constrained", kConstrained);
  const auto draws = model.constrain(Matrix::Zero(3, 1), {.transformed_parameters = false}, 1);
  EXPECT_EQ(draws.names.size(), 4U);
  EXPECT_EQ(draws.values.rows(), 4);
}

TEST(StanModel, GeneratesQuantitiesFromTheSeed) {
  const auto model = open_test_model("gaussian", kGaussian);
  const Blocks blocks{.transformed_parameters = true, .generated_quantities = true};
  const Matrix theta = grid(2, 5);
  const auto draws = model.constrain(theta, blocks, 7);
  EXPECT_EQ(draws.names.back(), "replicate");
  EXPECT_EQ(draws.values, model.constrain(theta, blocks, 7).values);
  EXPECT_NE(draws.values, model.constrain(theta, blocks, 8).values);
}

TEST(StanModel, UnconstrainsWhatItConstrains) {
  const auto model = open_test_model("constrained", kConstrained);
  const Vector theta = model.unconstrain(R"({"sigma": 2.5, "p": [0.5, 0.3, 0.2]})");
  const auto back = model.constrain(theta, {.transformed_parameters = false}, 1);
  EXPECT_LT((back.values - Vector{{2.5, .5, .3, .2}}).norm(), 1e-14);
}

TEST(StanModel, NamesTheFileWhoseStartingValuesAreOutside) {
  const auto model = open_test_model("constrained", kConstrained);
  const auto file = std::filesystem::path(testing::TempDir()) / "magva_outside.json";
  std::ofstream(file) << R"({"sigma": -1, "p": [0.5, 0.3, 0.2]})";
  const auto message = message_of<DataError>([&] { read_start(model, file); });
  EXPECT_NE(message.find("magva_outside.json"), std::string::npos) << message;
  EXPECT_NE(message.find("must be greater than 0"), std::string::npos) << message;
  std::filesystem::remove(file);
}

TEST(StanModel, RefusesAStartOnTheBoundary) {
  const auto model = open_test_model("constrained", kConstrained);
  EXPECT_THROW(model.unconstrain(R"({"sigma": 0, "p": [0.5, 0.3, 0.2]})"), DataError);
}

TEST(StanModel, RefusedDataGiveStansMessageWithoutTheData) {
  const auto message =
      message_of<DataError>([] { open_test_model("gaussian", R"({"mean": [1, 2], "covariance": []})"); });
  EXPECT_NE(message.find("does not accept the data: mismatch in dimension"), std::string::npos) << message;
  EXPECT_EQ(message.find("construct("), std::string::npos) << message;
}

TEST(StanModel, RefusesAProgramWithoutParameters) {
  const auto message =
      message_of<DataError>([] { open_test_model("slow", R"({"m": 0, "milliseconds": 0})"); });
  EXPECT_NE(message.find("has no parameters"), std::string::npos) << message;
}

TEST(StanModel, NamesADataFileThatIsNotThere) {
  const auto message =
      message_of<IoError>([] { load_model(test_library("gaussian"), "nowhere/data.json", 1); });
  EXPECT_NE(message.find("'nowhere/data.json'"), std::string::npos) << message;
}

struct Fault {
  const char* kind;
  std::uint64_t thrown;
  std::uint64_t non_finite;
  const char* message;
};

class FaultyModel : public testing::TestWithParam<Fault> {};

TEST_P(FaultyModel, RejectsTheDrawsThatFailAndNoOther) {
  const auto data = std::string(R"({"m": 2, "above": 1.5, "fault": ")") + GetParam().kind + "\"}";
  const auto model = open_test_model("faulty", data);
  const Matrix theta{{1, 2, -3, 4}, {0, 0, 0, 0}};
  const auto draws = evaluate(model, theta);
  for (const Index s : {0, 2}) {
    EXPECT_NEAR(draws.log_density(s), -std::log(2 * std::numbers::pi) - 0.5 * theta(0, s) * theta(0, s),
                1e-14);
  }
  for (const Index s : {1, 3}) EXPECT_FALSE(std::isfinite(draws.log_density(s)));
  EXPECT_TRUE(draws.gradient.allFinite());

  const auto rejections = model.rejections();
  EXPECT_EQ(rejections.evaluated, 4U);
  EXPECT_EQ(rejections.thrown, GetParam().thrown);
  EXPECT_EQ(rejections.non_finite, GetParam().non_finite);
  EXPECT_EQ(rejections.first_message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, FaultyModel,
    testing::Values(Fault{"throw", 2, 0, "normal_lpdf: Scale parameter is 0, but must be positive!"},
                    Fault{"nan", 0, 2, "the log density is nan"},
                    Fault{"gradient", 0, 2, "the gradient of the log density is not finite"}),
    [](const auto& fault) { return fault.param.kind; });

TEST(StanModel, MarksTheDrawsThatCannotBeConstrained) {
  const auto model = open_test_model("faulty", R"({"m": 1, "above": 0, "fault": "throw"})");
  const auto draws = model.constrain(Matrix{{-1, 1, 2}}, {}, 1);
  EXPECT_EQ(draws.failed, 2);
  EXPECT_EQ(draws.first_failure, "Sigma is not positive definite.");
  EXPECT_EQ(draws.values(0, 0), -1);
  EXPECT_TRUE(std::isnan(draws.values(0, 1)) && std::isnan(draws.values(0, 2)));
}

TEST(StanModel, PrintStatementsGoToStandardError) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    const auto model = open_test_model("printing", R"({"m": 1})");
    evaluate(model, Matrix::Zero(1, 2));
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "printed by transformed data\nprinted by the model block\nprinted by the model block\n");
}

TEST(StanModel, WaitsForASlowProgram) {
  const auto model = open_test_model("slow", R"({"m": 3, "milliseconds": 5})");
  EXPECT_TRUE(evaluate(model, Matrix::Zero(3, 2)).log_density.allFinite());
}

}  // namespace
}  // namespace magva::stan
