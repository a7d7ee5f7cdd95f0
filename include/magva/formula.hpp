#pragma once
// R's formula language: y ~ x1*x2 + log(dose) + C(site, base=A) + s(age) + offset(log(days)) + (1 + x1 |
// school).
//
// A formula is parsed into a tree, the tree is expanded into terms (Wilkinson & Rogers 1973, as R's
// terms.formula does), and the terms are learnt from a table (formula_design.hpp).
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "magva/error.hpp"

namespace magva::formula {

/// A formula that cannot be used. `what()` is the sentence; `pointer()` shows the place in the formula.
class FormulaError : public UsageError {
 public:
  FormulaError(const std::string& sentence, std::string text, std::size_t position);

  const std::string& text() const { return text_; }
  std::size_t position() const { return position_; }
  /// Two lines: the formula, and a caret under the character.
  std::string pointer() const;

 private:
  std::string text_;
  std::size_t position_;
};

enum class NodeKind { number, name, text, call, negate, binary };

/// A part of a formula, as R's own parser sees it.
struct Node {
  NodeKind kind = NodeKind::number;
  double value = 0;            ///< of a number
  std::string name;            ///< a column, a text's content, a function, or an operator
  std::vector<Node> children;  ///< operands, or the arguments of a call
  std::string label;           ///< as an argument of a call: its name, or nothing
  std::size_t position = 0;    ///< of its first character in the formula, or of its operator
  bool parenthesised = false;

  bool is_call(std::string_view function) const { return kind == NodeKind::call && name == function; }
  bool is_operator(std::string_view op) const { return kind == NodeKind::binary && name == op; }
};

/// The shortest R text that parses to the same tree: two parts are the same if their texts are.
std::string to_string(const Node& node);
/// The text of a name: in backticks unless R would read it as one name.
std::string quoted_name(const std::string& name);

/// An expression; throws FormulaError.
Node parse_expression(const std::string& text);

struct Formula {
  std::string text;
  Node response;
  Node predictors;
};

/// Throws FormulaError, which points at the character.
Formula parse(const std::string& text);

/// Predictors that are multiplied with each other: numbers into Terms::variables, in increasing order. An
/// empty one is the intercept.
using Interaction = std::vector<std::size_t>;

/// Fixed terms: an intercept, and interactions ordered by their degree, as R orders them.
struct Terms {
  bool intercept = true;
  std::vector<Node> variables;  ///< each once: columns and calls
  std::vector<Interaction> interactions;
};

/// (effects | group) or (effects || group).
struct GroupSyntax {
  Node effects;
  std::vector<std::string> columns;  ///< whose levels together are the groups: a:b
  bool correlated = true;
  std::size_t position = 0;
};

/// The right-hand side, expanded.
struct ExpandedFormula {
  Terms fixed;
  std::vector<Node> offsets;  ///< the arguments of offset()
  std::vector<Node> smooths;  ///< the calls s(x)
  std::vector<GroupSyntax> groups;
};

/// Names of all columns in a part of a formula, each once.
std::vector<std::string> column_names(const Node& node);

/// `dot` are the columns that '.' stands for. Throws FormulaError.
ExpandedFormula expand(const Formula& formula, const std::vector<std::string>& dot);
/// The effects of a group term.
Terms expand_effects(const Formula& formula, const GroupSyntax& group);
/// Whether '.' occurs.
bool has_dot(const Node& node);

}  // namespace magva::formula
