// The grammar: what is parsed, what it expands to, and where errors point. Expansions are those of R's
// attr(terms(f), "term.labels").
#include "magva/formula.hpp"

#include <gtest/gtest.h>

#include "unit/table/support.hpp"

namespace magva::formula {
namespace {

using Names = std::vector<std::string>;
using test::sentence;

std::string labels(const std::string& text, const Names& dot = {}) {
  const Formula formula = parse(text);
  const Terms terms = expand(formula, dot).fixed;
  std::string out = terms.intercept ? "1" : "0";
  for (const Interaction& term : terms.interactions) {
    out += ", ";
    for (std::size_t i = 0; i < term.size(); ++i)
      out += (i > 0 ? ":" : "") + to_string(terms.variables[term[i]]);
  }
  return out;
}

TEST(Formula, ExpandsTermsAsRDoes) {
  EXPECT_EQ(labels("y ~ a*b*c"), "1, a, b, c, a:b, a:c, b:c, a:b:c");
  EXPECT_EQ(labels("y ~ (a+b+c)^2 - a:b"), "1, a, b, c, a:c, b:c");
  EXPECT_EQ(labels("y ~ a/b"), "1, a, a:b");
  EXPECT_EQ(labels("y ~ (a+b)/c"), "1, a, b, a:b:c");
  EXPECT_EQ(labels("y ~ 0 + a:b + a"), "0, a, a:b");
  EXPECT_EQ(labels("y ~ a*b - 1"), "0, a, b, a:b");
  EXPECT_EQ(labels("y ~ a*b - a"), "1, b, a:b");
  EXPECT_EQ(labels("y ~ (a+b)*(c+d)"), "1, a, b, c, d, a:c, a:d, b:c, b:d");
  EXPECT_EQ(labels("y ~ -1 + a"), "0, a");
  EXPECT_EQ(labels("y ~ a^2"), "1, a");
  EXPECT_EQ(labels("y ~ x + I(x^2) + log(x+1)"), "1, x, I(x^2), log(x + 1)");
  EXPECT_EQ(labels("y ~ 1"), "1");
  EXPECT_EQ(labels("y ~ . - b", {"a", "b", "c d"}), "1, a, `c d`");
  EXPECT_EQ(labels("y ~ .^2", {"a", "b"}), "1, a, b, a:b");
}

TEST(Formula, SeparatesOffsetsSmoothTermsAndGroups) {
  const Formula formula =
      parse("y ~ x1*x2 + s(age) + offset(log(days)) + (1 + x1 | school) + (x || g) + (1 | a/b)");
  const ExpandedFormula expanded = expand(formula, {});
  EXPECT_EQ(expanded.fixed.interactions.size(), 3U);
  ASSERT_EQ(expanded.offsets.size(), 1U);
  EXPECT_EQ(to_string(expanded.offsets[0]), "log(days)");
  ASSERT_EQ(expanded.smooths.size(), 1U);
  EXPECT_EQ(to_string(expanded.smooths[0]), "s(age)");
  ASSERT_EQ(expanded.groups.size(), 4U);
  EXPECT_EQ(expanded.groups[0].columns, Names{"school"});
  EXPECT_TRUE(expanded.groups[0].correlated);
  EXPECT_FALSE(expanded.groups[1].correlated);
  EXPECT_EQ(expanded.groups[2].columns, Names{"a"});
  EXPECT_EQ(expanded.groups[3].columns, (Names{"a", "b"}));
  const Terms effects = expand_effects(formula, expanded.groups[0]);
  EXPECT_TRUE(effects.intercept);
  EXPECT_EQ(effects.interactions.size(), 1U);
}

TEST(Formula, TextReadsBackToTheSameTree) {
  for (const char* text :
       {"a + b * c", "(a + b) * c", "-x^2", "(-x)^2", "2^-1", "a - (b - c)", "f(x, base=\"a b\", k=3)",
        "`odd name` / 2", "x > 3 == TRUE", "a:b", "1e-05 * x", "log(x + 0.1)"})
    EXPECT_EQ(to_string(parse_expression(text)), text);
}

/// The position of the error, and its sentence.
std::pair<std::size_t, std::string> parse_fault(const std::string& text) {
  try {
    const Formula formula = parse(text);
    for (const GroupSyntax& group : expand(formula, {}).groups) expand_effects(formula, group);
  } catch (const FormulaError& error) {
    return {error.position(), error.what()};
  }
  return {0, "no error"};
}

TEST(Formula, ErrorsPointAtTheCharacter) {
  using Fault = std::pair<std::size_t, std::string>;
  EXPECT_EQ(parse_fault("y ~ x + + "), (Fault{10, "formula, character 11: the formula breaks off"}));
  EXPECT_EQ(
      parse_fault("y ~ x z"),
      (Fault{6,
             "formula, character 7: an operator such as '+' is missing here; a name with spaces is put in "
             "backticks"}));
  EXPECT_EQ(parse_fault("y ~ (x | )"),
            (Fault{9, "formula, character 10: the group is missing after '|', as in (1 | school)"}));
  EXPECT_EQ(parse_fault("y ~ (x || "),
            (Fault{10, "formula, character 11: the group is missing after '||', as in (1 || school)"}));
  EXPECT_EQ(parse_fault("y ~ ( | g)").first, 6U);
  EXPECT_EQ(parse_fault("y ~ (x + )"), (Fault{9, "formula, character 10: there is nothing after '+'"}));
  EXPECT_EQ(parse_fault("y ~ x + ()"),
            (Fault{9, "formula, character 10: there is nothing between '(' and ')'"}));
  EXPECT_EQ(parse_fault("y ~ log(x"), (Fault{7, "formula, character 8: this '(' is never closed"}));
  EXPECT_EQ(
      parse_fault("y x"),
      (Fault{2,
             "formula, character 3: an operator such as '+' is missing here; a name with spaces is put in "
             "backticks"}));
  EXPECT_EQ(parse_fault("y"),
            (Fault{1, "formula, character 2: there is no '~'; write response ~ predictors"}));
  EXPECT_EQ(parse_fault("~ x").first, 0U);
  EXPECT_EQ(parse_fault("y ~ x)").first, 5U);
  EXPECT_EQ(parse_fault("y ~ 2").first, 4U);
  EXPECT_EQ(parse_fault("y ~ x + 1 | g").first, 10U);
  EXPECT_EQ(parse_fault("y ~ x * (1 | g)").first, 11U);
  EXPECT_EQ(parse_fault("y ~ s(x):z").first, 4U);
  EXPECT_EQ(parse_fault("y ~ x $ z").first, 6U);
  EXPECT_EQ(parse_fault("y ~ x == 2").first, 6U);
  EXPECT_EQ(parse_fault("y ~ (s(x) | g)").first, 5U);
  EXPECT_EQ(parse_fault("y ~ 'a").first, 4U);
  EXPECT_EQ(
      parse_fault("y ~ " + std::string(300, '(') + "x").second.find("nested too deeply") != std::string::npos,
      true);
}

// Found by fuzzing: 4,095 terms times themselves are 17 million products of few different terms.
TEST(Formula, ExpandsManyTermsSoonOrRefusesThem) {
  const std::string many = "(a*b*c*d*e*f*g*h*i*j*k*l)";
  EXPECT_EQ(labels("y ~ " + many + " + " + many).size(), labels("y ~ " + many).size());
  EXPECT_NE(
      sentence<FormulaError>([&] { labels("y ~ " + many + ":" + many); }).find("more than 1000000 products"),
      std::string::npos);
}

TEST(Formula, TheCaretStandsUnderTheCharacter) {
  try {
    parse("größe ~ x y");
    FAIL();
  } catch (const FormulaError& error) {
    EXPECT_EQ(error.pointer(), "  größe ~ x y\n            ^");
  }
}

}  // namespace
}  // namespace magva::formula
