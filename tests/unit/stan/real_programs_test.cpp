// Stan programs of our own, compiled by the BridgeStan that the environment names.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/evaluator.hpp"
#include "libraries.hpp"
#include "magva/stan.hpp"

namespace magva::stan {
namespace {

std::filesystem::path program_file(const std::string& name) {
  return test::source_folder() / "tests/stan/programs" / name;
}

class RealProgram : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const char* bridgestan = std::getenv("BRIDGESTAN");
    if (!bridgestan || !*bridgestan)
      GTEST_SKIP() << "BRIDGESTAN is not set: no Stan program can be compiled.";
  }
  static std::unique_ptr<StanModel> open(const std::string& name) {
    const auto library =
        library_of(program_file(name + ".stan"), [](const auto& line) { std::cerr << line << '\n'; });
    return load_model(library, program_file(name + ".json"), 1);
  }
};

Vector somewhere(Index dimension) { return Vector::LinSpaced(dimension, 0.3, 2).array().sin() * 0.4; }

TEST_P(RealProgram, HasTheGradientOfItsLogDensity) {
  const auto model = open(GetParam());
  EXPECT_TRUE(model->concurrent());
  const Vector theta = somewhere(model->dimension());
  const auto here = evaluate(*model, theta);
  ASSERT_TRUE(std::isfinite(here.log_density(0))) << model->rejections().first_message;
  EXPECT_NEAR(Evaluator(*model, 1).evaluate_values(theta)(0), here.log_density(0),
              1e-12 * (1 + std::abs(here.log_density(0))));
  constexpr double h = 1e-5;
  for (Index i = 0; i < std::min<Index>(theta.size(), 10); ++i) {
    const Vector step = h * Vector::Unit(theta.size(), i);
    const double slope =
        (evaluate(*model, theta + step).log_density(0) - evaluate(*model, theta - step).log_density(0)) /
        (2 * h);
    EXPECT_NEAR(here.gradient(i), slope, 1e-6 * (1 + std::abs(slope)));
  }
}

TEST_P(RealProgram, GivesTheSameForAnyNumberOfThreads) {
  const auto model = open(GetParam());
  Matrix theta(model->dimension(), 16);
  for (Index s = 0; s < theta.cols(); ++s)
    theta.col(s) = (0.1 * static_cast<double>(s)) * somewhere(theta.rows());
  const auto one = evaluate(*model, theta, 1);
  const auto three = evaluate(*model, theta, 3);
  EXPECT_EQ(one.log_density, three.log_density);
  EXPECT_EQ(one.gradient, three.gradient);
}

INSTANTIATE_TEST_SUITE_P(Stan, RealProgram,
                         testing::Values("regression", "eight_schools", "hierarchical", "gaussian_process"),
                         [](const auto& program) { return std::string(program.param); });

using RealStan = RealProgram;

TEST_F(RealStan, RegressionKeepsEveryConstant) {
  const auto model = open("regression");
  const auto data = nlohmann::json::parse(std::ifstream(program_file("regression.json")));
  const auto y = data.at("y").get<std::vector<double>>();
  // At beta = 0 and variance = 1: the inverse gamma(2, 1) density is exp(-1), the Jacobian of the
  // logarithm 1.
  double expected = -1;
  const auto normal = [](double x, double sd) {
    return -0.5 * std::log(2 * M_PI) - std::log(sd) - 0.5 * x * x / (sd * sd);
  };
  for (int k = 0; k < data.at("K"); ++k) expected += normal(0, data.at("scale"));
  for (const double value : y) expected += normal(value, 1);
  EXPECT_NEAR(evaluate(*model, Vector::Zero(model->dimension())).log_density(0), expected,
              1e-10 * std::abs(expected));
}

TEST_F(RealStan, EightSchoolsHasStansNamesAndGeneratedQuantities) {
  const auto model = open("eight_schools");
  EXPECT_EQ(model->parameter_name(2), "z[1]");
  const Vector start = model->unconstrain(R"({"mu": 4, "tau": 2, "z": [1, 0, 0, 0, 0, 0, 0, -1]})");
  EXPECT_NEAR(start(1), std::log(2.), 1e-14);
  const auto draws =
      model->constrain(start, {.transformed_parameters = true, .generated_quantities = true}, 3);
  ASSERT_EQ(draws.names.size(), 26U);
  EXPECT_EQ(draws.names[10], "theta[1]");
  EXPECT_NEAR(draws.values(10), 6, 1e-12);
  EXPECT_EQ(draws.names[25], "y_new[8]");
}

}  // namespace
}  // namespace magva::stan
