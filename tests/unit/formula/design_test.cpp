// Learnt formulas: the design that R's model.matrix gives (the expected figures are its), groups, responses,
// and encodings that survive JSON.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "magva/formula_design.hpp"
#include "unit/table/support.hpp"

namespace magva::formula {
namespace {

using Names = std::vector<std::string>;
using table::Table;
using test::sentence;
using test::table_of;

const char* const kData =
    "y,x,g,h,n,t,d\n"
    "1,1,a,u,5,1.5,1\n2,2,b,u,5,2,2\n3,3,c,v,6,3,1\n4,4,a,v,7,4,2\n5,6,b,u,8,5,2\n6,9,c,v,9,6,2\n";

LearntFormula learnt(const std::string& formula, ResponseType type = ResponseType::number) {
  LearnOptions options;
  options.formula = formula;
  options.type = type;
  return learn(table_of(kData), options);
}

/// The design before it was centred.
RowMatrix plain(const LearntFormula& fit) { return fit.rows.x.rowwise() + fit.spec.centre.transpose(); }

RowMatrix rows_of(std::initializer_list<std::initializer_list<double>> rows) {
  RowMatrix out(static_cast<Index>(rows.size()), static_cast<Index>(rows.begin()->size()));
  Index i = 0;
  for (const auto& row : rows) {
    Index j = 0;
    for (const double value : row) out(i, j++) = value;
    ++i;
  }
  return out;
}

TEST(FormulaDesign, CodesFactorsByTheirMargins) {
  const auto slopes = learnt("y ~ x + g:x");
  EXPECT_EQ(slopes.spec.names(), (Names{"(Intercept)", "x", "x:g[b]", "x:g[c]"}));
  EXPECT_LT((plain(slopes) -
             rows_of({{1, 1, 0, 0}, {1, 2, 2, 0}, {1, 3, 0, 3}, {1, 4, 0, 0}, {1, 6, 6, 0}, {1, 9, 0, 9}}))
                .norm(),
            1e-13);
  EXPECT_LT(slopes.rows.x.rightCols(3).colwise().sum().norm(), 1e-13);
  EXPECT_EQ(learnt("y ~ 0 + g:x").spec.names(), (Names{"g[a]:x", "g[b]:x", "g[c]:x"}));
  EXPECT_EQ(learnt("y ~ 0 + g + h").spec.names(), (Names{"g[a]", "g[b]", "g[c]", "h[v]"}));
  EXPECT_EQ(learnt("y ~ C(g, base=b) + C(h)").spec.names(), (Names{"(Intercept)", "g[a]", "g[c]", "h[v]"}));
  EXPECT_EQ(learnt("y ~ factor(n)").spec.names(), (Names{"(Intercept)", "n[6]", "n[7]", "n[8]", "n[9]"}));
}

TEST(FormulaDesign, LeavesOutEmptyCellsAndDuplicatesByName) {
  const auto cells = learnt("y ~ g*h");
  EXPECT_EQ(cells.spec.names(), (Names{"(Intercept)", "g[b]", "g[c]", "h[v]"}));
  ASSERT_EQ(cells.spec.dropped.size(), 2U);
  EXPECT_EQ(cells.spec.dropped[0].name, "g[b]:h[v]");
  EXPECT_EQ(cells.spec.dropped[0].reason, "zero in every row");
  EXPECT_EQ(cells.spec.dropped[1].reason, "equals 'g[c]'");
}

TEST(FormulaDesign, PolynomialsAreRsOwn) {
  const auto cubic = learnt("y ~ poly(x, 3)");
  EXPECT_EQ(cubic.spec.names(), (Names{"(Intercept)", "poly(x, 3)1", "poly(x, 3)2", "poly(x, 3)3"}));
  const RowMatrix expected = rows_of({{-0.48385074501344411, 0.54429375174472960, -0.4467044760176439},
                                      {-0.33105577290393540, 0.08846647755630588, 0.2919642232033730},
                                      {-0.17826080079442683, -0.23890947046279212, 0.4350007716169703},
                                      {-0.02546582868491816, -0.43783409231256470, 0.1863166901905839},
                                      {0.28012411553409916, -0.45032935750413339, -0.6705672783124010},
                                      {0.73850903186262518, 0.49431269097845504, 0.2039900693191174}});
  EXPECT_LT((plain(cubic).rightCols(3) - expected).norm(), 1e-12);
  // predict(poly(x, 3), c(0, 5))
  const auto rows = encode(cubic.spec, table_of("x\n0\n5\n"));
  const RowMatrix predicted = rows.x.rowwise() + cubic.spec.centre.transpose();
  EXPECT_LT(
      (predicted.rightCols(3) - rows_of({{-0.6366457171229528, 1.1285723521024784, -1.9849168470135139},
                                         {0.1273291434245905, -0.5083073879930117, -0.2501765001083514}}))
          .norm(),
      1e-12);
}

TEST(FormulaDesign, ArithmeticAndScalesAreLearntOnce) {
  const auto fit = learnt("y ~ I(x^2 - 1) + scale(x) + log(x + 1) + I(x > 3)");
  EXPECT_EQ(fit.spec.names(), (Names{"(Intercept)", "I(x^2 - 1)", "scale(x)", "log(x + 1)", "I(x > 3)"}));
  const auto rows = encode(fit.spec, table_of("x\n9\n"));
  const Vector row = rows.x.row(0).transpose() + fit.spec.centre;
  EXPECT_NEAR(row(1), 80, 1e-12);
  EXPECT_NEAR(row(2), 1.65135639724238792, 1e-13);  // scale(d$x)[6]
  EXPECT_NEAR(row(3), std::log(10), 1e-14);
  EXPECT_NEAR(row(4), 1, 1e-14);
}

TEST(FormulaDesign, GroupsAreNumberedInOrderAndNewOnesAreTold) {
  const auto fit = learnt("y ~ x + (1 + x | h) + (1 | g:h) + offset(log(n))");
  ASSERT_EQ(fit.spec.groups.size(), 2U);
  EXPECT_EQ(fit.spec.groups[0].levels, (Names{"u", "v"}));
  EXPECT_EQ(fit.spec.groups[1].levels, (Names{"a:u", "a:v", "b:u", "c:v"}));
  EXPECT_EQ(fit.rows.groups[0].group, (std::vector<std::int32_t>{0, 0, 1, 1, 0, 1}));
  EXPECT_EQ(fit.rows.groups[0].z.col(1), Eigen::VectorXd(plain(fit).col(1)));
  EXPECT_NEAR(fit.rows.offset(0), std::log(5), 1e-15);
  const auto rows = encode(fit.spec, table_of("x,g,h,n\n1,c,u,2\n2,z,w,2\n"));
  EXPECT_EQ(rows.groups[0].group, (std::vector<std::int32_t>{0, kNewGroup}));
  EXPECT_EQ(rows.groups[1].group, (std::vector<std::int32_t>{kNewGroup, kNewGroup}));
}

TEST(FormulaDesign, ResponsesInAllForms) {
  const auto trials = learnt("y | trials(n) ~ x", ResponseType::count);
  EXPECT_EQ(trials.rows.trials(2), 6);
  const auto both = learnt("cbind(y, n) ~ x", ResponseType::count);
  EXPECT_EQ(both.rows.trials(2), 9);
  const auto survival = learnt("Surv(t, d) ~ x");
  EXPECT_EQ(survival.rows.response(0), 1.5);
  EXPECT_EQ(Vector(survival.rows.status), (Vector(6) << 0, 1, 0, 1, 1, 1).finished());
  const auto classes = learnt("h ~ x", ResponseType::two_classes);
  EXPECT_EQ(classes.spec.response.classes, (Names{"u", "v"}));
  EXPECT_EQ(learnt("g ~ x", ResponseType::classes).spec.response.classes, (Names{"a", "b", "c"}));
  EXPECT_NEAR(learnt("log(y) ~ x").rows.response(5), std::log(6), 1e-15);
}

TEST(FormulaDesign, SmoothTermsAreALineAndWhatBendsIt) {
  const auto fit = learnt("y ~ h + s(x, k=6)");
  EXPECT_EQ(fit.rows.x.cols(), 2 + 5);
  EXPECT_LT(fit.rows.x.rightCols(5).colwise().sum().norm(), 1e-12);
  const Vector line = fit.rows.x.col(2);
  EXPECT_NEAR((line(5) - line(0)) / 8, (line(3) - line(1)) / 2, 1e-12);
}

TEST(FormulaDesign, StandardisedColumnsHaveSdOne) {
  LearnOptions options;
  options.formula = "y ~ x + g";
  options.standardise = true;
  const auto fit = learn(table_of(kData), options);
  for (Index j = 1; j < 4; ++j) EXPECT_NEAR(fit.rows.x.col(j).squaredNorm(), 5, 1e-12);
  EXPECT_EQ(encode(fit.spec, table_of(kData)).x, fit.rows.x);
}

TEST(FormulaDesign, SurvivesJson) {
  for (const char* formula : {"y ~ g*x + poly(x, 2) + scale(log(n)) + s(x, k=5) + offset(n / 2) + (x || h)",
                              "Surv(t, d) ~ C(h, base=v)", "y | trials(n + 1) ~ 0 + g:x"}) {
    const auto fit = learnt(formula);
    const auto json = to_json(fit.spec);
    const FormulaSpec back = formula_spec_from_json(json);
    EXPECT_EQ(to_json(back), json);
    const Table table = table_of(kData);
    const EncodedFormula rows = encode(back, table);
    EXPECT_EQ(rows.x, fit.rows.x) << formula;
    EXPECT_EQ(rows.response, fit.rows.response);
    EXPECT_EQ(rows.offset.size(), fit.rows.offset.size());
  }
}

std::string fault(const std::string& formula, ResponseType type = ResponseType::number) {
  return sentence<Error>([&] { learnt(formula, type); });
}

TEST(FormulaDesign, KeysAndGroupsThatAreTheSameAreSaid) {
  std::string data = "y,id,g,h\n";
  for (int i = 0; i < 12; ++i)
    data += std::to_string(i % 5) + ",r" + std::to_string(i) + "," + "abc"[i % 3] + "," + "uvw"[i % 3] + "\n";
  const auto fault_of = [&](const std::string& formula) {
    return sentence<Error>([&] {
      LearnOptions options;
      options.formula = formula;
      learn(table_of(data), options);
    });
  };
  EXPECT_EQ(
      fault_of("y ~ id"),
      "formula, character 5: 'id' has another level in each of the 12 rows, like a name or a key: leave "
      "it out");
  EXPECT_EQ(fault_of("y ~ (1 | g) + (1 | h)"),
            "formula, character 18: the groups 'g' and 'h' are the same rows: leave one of them out");
}

TEST(FormulaDesign, FaultsAreOneSentence) {
  EXPECT_EQ(fault("y ~ z"), "formula, character 5: data.csv has no column 'z'");
  EXPECT_EQ(fault("y ~ log(g)"), "data.csv: column 'g' holds text such as 'a', but log(g) needs numbers");
  EXPECT_EQ(fault("y ~ lag(x)"), "formula, character 5: there is no function lag() (did you mean 'log'?)");
  EXPECT_EQ(fault("factor(y) ~ x"), "formula, character 1: factor() cannot stand here");
  EXPECT_EQ(fault("y ~ log(x - 1)"),
            "data.csv, line 2: log(x - 1) is -inf; change the formula, or leave the row out");
  EXPECT_EQ(fault("y ~ C(g, base=q)"),
            "formula, character 15: 'g' has no level 'q'; it has 'a', 'b' and 'c'");
  EXPECT_EQ(fault("y ~ x + y"), "formula, character 9: 'y' is the response and cannot be a predictor too");
  EXPECT_EQ(fault("y ~ poly(h, 2)"), "data.csv: column 'h' holds text such as 'u', but h needs numbers");
  EXPECT_EQ(
      fault("y ~ poly(d, 2)"),
      "formula, character 5: a polynomial of degree 2 needs more than 2 different values, but there are 2");
  EXPECT_EQ(
      fault("y ~ (1 + x | h) + (1 + x | x)"),
      "formula, character 26: the group 'x' has 6 levels with 2 effects each for 6 rows: more random effects "
      "than the data can tell apart");
  EXPECT_EQ(fault("y ~ (1 | h) + (1 + x | h)"),
            "formula, character 22: the group 'h' has the effect '(Intercept)' twice");
  EXPECT_EQ(fault("Surv(x - 1, d) ~ h"), "data.csv, line 2: x - 1 is 0, but survival times must be positive");
  EXPECT_EQ(fault("Surv(t, n) ~ h"),
            "data.csv: the status n must be 0 (censored) and 1 (event), 1 and 2, or FALSE and TRUE, but has "
            "'5', '6', "
            "'7', '8' and '9'");
  EXPECT_EQ(fault("n | trials(y) ~ x", ResponseType::count),
            "data.csv, line 2: n | trials(y) has 5 successes in 1 trials");
  EXPECT_EQ(fault("t ~ x", ResponseType::count), "data.csv, line 2: t is 1.5, but counts are 0, 1, 2, ...");
}

TEST(FormulaDesign, AGroupWithOneLevelIsRefused) {
  LearnOptions options;
  options.formula = "y ~ x + (1 | g)";
  EXPECT_EQ(sentence<FormulaError>([&] { learn(table_of("y,x,g\n1,2,a\n2,3,a\n3,5,a\n"), options); }),
            "formula, character 12: the group 'g' has a single level, 'a': its spread cannot be learnt");
}

}  // namespace
}  // namespace magva::formula
