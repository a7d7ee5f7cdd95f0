// Regressions by formulas: what is stored of them, their results on the formula's own scale, priors as
// statements, and predictions that follow from the posterior.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <nlohmann/json.hpp>

#include "magva/formula_model.hpp"
#include "magva/prediction.hpp"
#include "results/parameter_summary.hpp"
#include "source/model_spec.hpp"
#include "source/prior_statements.hpp"
#include "unit/table/support.hpp"

namespace magva::source {
namespace {

using test::sentence;
using test::table_of;

/// x far from zero, a factor, a group of six, a response near 500.
table::Table data() {
  std::string text = "y,x,g,group,count\n";
  for (int i = 0; i < 60; ++i) {
    const double x = 1000 + 3 * (i % 7) + .1 * i;
    const double y =
        500 + 2 * (x - 1000) + 10 * (i % 3 == 1) + 4 * std::sin(37.0 * i) + 6 * std::cos(5.0 * (i % 6));
    text += std::to_string(y) + "," + std::to_string(x) + "," + "abc"[i % 3] + ",s" + std::to_string(i % 6) +
            "," + std::to_string(i % 5) + "\n";
  }
  return table_of(text);
}

FormulaOptions by(const std::string& formula, std::vector<std::string> priors = {}) {
  FormulaOptions options;
  options.formula = formula;
  options.priors = std::move(priors);
  return options;
}

TEST(FormulaSource, ResultsAreThoseOfLeastSquaresOnTheFormulasOwnScale) {
  const ModelSource source = make_formula_source(data(), by("y ~ x + g"));
  const FitResult result = fit(source);
  // Least squares on the columns as they are.
  const table::Table table = data();
  Matrix x(60, 4);
  Vector y(60);
  for (Index i = 0; i < 60; ++i) {
    x.row(i) << 1, table.find("x")->values[i], i % 3 == 1, i % 3 == 2;
    y(i) = table.find("y")->values[i];
  }
  const Vector expected = (x.transpose() * x).ldlt().solve(x.transpose() * y);
  const Matrix inverse = (x.transpose() * x).inverse();
  const double sigma = (y - x * expected).norm() / std::sqrt(56.0);
  const Matrix draws = result.posterior.draws(4000, 1);
  const Matrix reported = source.reporter->report(draws, 1);
  const auto quantities = source.reporter->quantities();
  for (Index j = 0; j < 4; ++j) {
    double mean = 0;
    for (const auto& [i, weight] : quantities[static_cast<std::size_t>(j)].combination)
      mean += weight * result.posterior.mean()(i);
    // Priors of 2.5 sds move a mean by less than a twentieth of its standard error here.
    EXPECT_NEAR(mean, expected(j), .05 * sigma * std::sqrt(inverse(j, j))) << j;
    // 4000 draws: standard error of a mean 1 / 63 of its sd.
    EXPECT_NEAR(reported.row(j).mean(), mean, 4.0 / 63 * sigma * std::sqrt(inverse(j, j)));
  }
  ASSERT_EQ(quantities.back().name, "sigma");
  // Exactly; bounds are four standard errors of what 4000 draws say.
  const auto summary = results::summarise(*source.reporter, result.posterior, 1);
  const results::ParameterSummary& exact = summary.parameters.back();
  const Vector drawn = reported.row(4);
  EXPECT_EQ(summary.draws, 0);
  EXPECT_NEAR(exact.mean, drawn.mean(), 4.0 / 63 * exact.sd);
  EXPECT_NEAR(exact.sd, std::sqrt((drawn.array() - drawn.mean()).square().mean()), 4 / 89. * exact.sd);
  EXPECT_NEAR((drawn.array() < exact.q05).cast<double>().mean(), .05, .014);
  EXPECT_NEAR((drawn.array() < exact.q50).cast<double>().mean(), .5, .032);
  EXPECT_NEAR((drawn.array() < exact.q95).cast<double>().mean(), .95, .014);
}

TEST(FormulaSource, ModelsSurviveJson) {
  for (const auto& [formula, priors] :
       {std::pair<std::string, std::vector<std::string>>{"y ~ x*g + s(x)", {"x ~ student_t(4, 1, 2)"}},
        {"y ~ x + g", {"coefficients ~ regularised_horseshoe(0.5, 2)", "sigma ~ gamma(2, 0.1)"}},
        {"count ~ x + offset(log(x))", {}}}) {
    FormulaOptions options = by(formula, priors);
    options.joint_smooths = true;  // a model whose effects are integrated out needs its draws, too
    const ModelSource source = make_formula_source(data(), options);
    const auto json = to_json(*source.spec);
    const ModelSpec back = model_spec_from_json(json, "model.json");
    EXPECT_EQ(to_json(back), json) << formula;
    const auto ours = source.reporter->quantities(), theirs = make_reporter(back)->quantities();
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_EQ(ours[i].name, theirs[i].name);
  }
}

TEST(FormulaSource, StoredDrawsOfGroupsPredict) {
  const ModelSource source = make_formula_source(data(), by("y ~ x + (1 | group)"));
  const FitResult result = fit(source);
  const auto spec = stored_spec(source, result.posterior);
  const ModelSpec back = model_spec_from_json(to_json(*spec), "model.json");
  ASSERT_TRUE(back.formula->draws);
  const auto rows = prediction::encode_new_rows(table_of("x,group\n1005,s0\n1005,s1\n1005,unseen\n"), back);
  prediction::PredictOptions options;
  options.scale = prediction::PredictionScale::link;
  const auto predicted = prediction::predict_rows(back, rows, result.posterior, options);
  const auto row = [&](const std::string& name) -> Vector {
    const auto& names = back.formula->draws->names;
    return back.formula->draws->values.row(std::find(names.begin(), names.end(), name) - names.begin());
  };
  const Vector expected = row("(Intercept)") + 1005 * row("x") + row("group[s0]: Intercept");
  EXPECT_NEAR(predicted.mean(0), expected.mean(), 1e-2);  // draws are stored in single precision
  EXPECT_GT(predicted.upper(2) - predicted.lower(2), 1.5 * (predicted.upper(0) - predicted.lower(0)));
}

/// Three classes that depend on x, in groups of twelve that differ.
table::Table classes() {
  std::string text = "y,x,group,two\n";
  for (int i = 0; i < 180; ++i) {
    const double x = 10 + 2 * std::sin(37.0 * i);
    const double score = (x - 10) + 1.5 * std::cos(5.0 * (i % 12)) + 3 * std::sin(11.0 * i * i);
    const char* const label = score < -1 ? "low" : score < 1 ? "mid" : "top";
    text += std::string(label) + "," + std::to_string(x) + ",s" + std::to_string(i % 12) + "," +
            (x > 10 ? "yes" : "no") + "\n";
  }
  return table_of(text);
}

// Probabilities of rows follow from the stored draws by their names: coefficients, cut points or classes, and
// group effects. Draws are stored in single precision.
TEST(FormulaSource, ClassesWithGroupsPredictFromTheirStoredDraws) {
  for (const Distribution family : {Distribution::ordered, Distribution::categorical}) {
    FormulaOptions options = by("y ~ x + (1 | group)");
    options.family = family;
    const ModelSource source = make_formula_source(classes(), options);
    const FitResult result = fit(source);
    const auto spec = stored_spec(source, result.posterior);
    const ModelSpec back = model_spec_from_json(to_json(*spec), "model.json");
    const auto rows = prediction::encode_new_rows(table_of("x,group\n11,s1\n11,unseen\n"), back);
    const auto predicted =
        prediction::predict_rows(back, rows, result.posterior, prediction::PredictOptions{});
    const auto row = [&](const std::string& name) -> Eigen::ArrayXd {
      const auto& names = back.formula->draws->names;
      const auto found = std::find(names.begin(), names.end(), name);
      EXPECT_NE(found, names.end()) << name;
      return back.formula->draws->values.row(found - names.begin()).transpose();
    };
    Eigen::ArrayXd low;
    if (family == Distribution::ordered) {
      low = 1 / (1 + (11 * row("x") + row("group[s1]: Intercept") - row("cut[1]")).exp());
    } else {
      const auto eta = [&](const std::string& name) {
        return (row(name + ": (Intercept)") + 11 * row(name + ": x") +
                row("group[s1]: " + name + ": Intercept"))
            .exp()
            .eval();
      };
      low = 1 / (1 + eta("mid") + eta("top"));
    }
    EXPECT_NEAR(predicted.probabilities(0, 0), low.mean(), 1e-4) << to_string(family);
    EXPECT_NEAR(predicted.probabilities.row(1).sum(), 1, 1e-9);
    // Every row of the fit has a log likelihood, and the model is not refuted by its own data.
    const auto input = prediction::check_input(source, result.posterior, 200, 1);
    ASSERT_TRUE(input);
    Workers workers(1);
    const FitCheck check = check_fit(*input, workers);
    EXPECT_NEAR(check.coverage.inside90, .9, 4 * check.coverage.se90) << to_string(family);
    EXPECT_LT(check.loo.elpd, -60);
    EXPECT_GT(check.loo.elpd, -180 * std::log(3.0));
  }
}

TEST(FormulaSource, SeparatedClassesAreSaidWithGroups) {
  const auto said = [](const std::string& formula) {
    FormulaOptions options = by(formula);
    options.family = Distribution::bernoulli;
    const ModelSource source = make_formula_source(classes(), options);
    return remarks(source, fit(source).posterior);
  };
  ASSERT_EQ(said("two ~ x + (1 | group)").size(), 1);
  EXPECT_NE(said("two ~ x + (1 | group)").front().find("the classes are separated"), std::string::npos);
  EXPECT_TRUE(said("two ~ (1 | group)").empty());
}

TEST(PriorStatements, ReachWhatTheyName) {
  const auto priors = [](std::vector<std::string> statements) {
    return make_formula_source(data(), by("y ~ x + g + (1 + x | group)", std::move(statements)))
        .spec->formula;
  };
  const auto set = priors({"g ~ normal(1, 2)", "x ~ cauchy(0, 3)", "sd(group: x) ~ student_t(3, 0, 7)",
                           "cor ~ lkj(2)", "sigma ~ exponential(3)", "Intercept ~ normal(5, 6)"});
  EXPECT_EQ(set->priors.location(2), 1);
  EXPECT_EQ(set->priors.scale(3), 2);
  EXPECT_EQ(set->priors.degrees(1), 1);
  EXPECT_EQ(set->priors.location(0), 5);
  EXPECT_EQ(set->sd_scales[0](1), 7);
  EXPECT_EQ(set->lkj, 2);
  EXPECT_EQ(set->own[0].prior.to_string(), PositivePrior::exponential(3).to_string());
  const auto fault = [&](const std::string& statement) {
    return sentence<UsageError>([&] { priors({statement}); });
  };
  EXPECT_NE(fault("z ~ normal(0, 1)").find("no such parameter"), std::string::npos);
  EXPECT_NE(fault("x normal(0, 1)").find("parameter ~ distribution"), std::string::npos);
  EXPECT_NE(fault("x ~ normal(0)").find("normal(mean, sd)"), std::string::npos);
  EXPECT_NE(fault("x ~ normal(0, 0)").find("positive"), std::string::npos);
  EXPECT_NE(fault("sigma ~ normal(0, 1)").find("exponential(rate)"), std::string::npos);
}

}  // namespace
}  // namespace magva::source
