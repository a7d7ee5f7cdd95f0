// One draw of each of the paper's families against independent figures.
#include <gtest/gtest.h>

#include "family/family.hpp"
#include "support/json_matrix.hpp"
#include "support/targets.hpp"

namespace magva {
namespace {

void set(Family& family, const char* name, const Matrix& value) {
  for (auto& block : family.blocks())
    if (std::string(name) == to_string(block.kind)) block.value = value;
}

const Matrix& gradient(const Family& family, const std::string& name) {
  for (const auto& block : family.blocks())
    if (name == to_string(block.kind)) return block.gradient;
  throw std::runtime_error("no block " + name);
}

TEST(ElboGradients, AgreeWithTheReference) {
  for (const auto& figures : test::read_json("elbo_gradients.json")) {
    const auto label = figures["family"].get<std::string>();
    const Matrix b = test::matrix(figures["B"]);
    const Index m = b.rows();
    const Index p = b.cols();
    Workers workers;
    FamilyOptions options;
    options.kind = parse_family(label);
    options.rank = p;
    const auto family = make_family(options, m, 1, 1, workers);
    for (const char* name : {"mu", "B", "d1", "d2"})
      if (figures.contains(name)) set(*family, name, test::matrix(figures[name]));

    Matrix noise(p + m, 1);
    noise << test::matrix(figures["z"]), test::matrix(figures["epsilon"]);
    Matrix theta(m, 1);
    family->prepare();
    family->draw(noise, theta);
    EXPECT_LT((theta - test::matrix(figures["theta"])).cwiseAbs().maxCoeff(), 1e-12) << label;

    const auto model = test::logistic_target(test::matrix(figures["X"]), test::matrix(figures["y"]),
                                             figures["prior_variance"]);
    Vector log_h(1);
    Matrix g(m, 1);
    Scratch scratch;
    Evaluation evaluation{scratch, workers};
    model.evaluate(theta, log_h, g, evaluation);
    EXPECT_NEAR(log_h(0), figures["log_h"].get<double>(), 1e-10);
    EXPECT_LT((g - test::matrix(figures["grad_log_h"])).cwiseAbs().maxCoeff(), 1e-10);

    const double constant = static_cast<double>(m) / 2 * (std::log(2 * std::numbers::pi) + 1);
    EXPECT_NEAR(family->entropy() - constant, figures["half_log_det"].get<double>(), 1e-12) << label;
    const Gaussian q = family->gaussian();
    EXPECT_NEAR(q.log_density(theta)(0), figures["log_q"].get<double>(), 1e-10) << label;
    EXPECT_LT((q.sd() - test::matrix(figures["sd"])).cwiseAbs().maxCoeff(), 1e-12) << label;
    EXPECT_LT((q.solve(theta - test::matrix(figures["mu"])) - test::matrix(figures["sigma_inverse_dev"]))
                  .cwiseAbs()
                  .maxCoeff(),
              1e-10)
        << label;

    Matrix model_gradient = g;
    family->gradient(noise, Vector::Ones(1), Estimator::kEntropy, model_gradient);
    for (const auto& [name, expected] : figures["gradient"].items())
      EXPECT_LT((gradient(*family, name) - test::matrix(expected)).cwiseAbs().maxCoeff(), 1e-10)
          << label << ", gradient of " << name;

    // The path derivative's model gradient becomes g + Sigma^-1 (theta - mu).
    family->gradient(noise, Vector::Ones(1), Estimator::kPath, model_gradient);
    EXPECT_LT((model_gradient - g - test::matrix(figures["sigma_inverse_dev"])).cwiseAbs().maxCoeff(), 1e-10)
        << label;
  }
}

}  // namespace
}  // namespace magva
