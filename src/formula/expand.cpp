// The algebra of terms (Wilkinson & Rogers 1973), as R's terms.formula understands it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "magva/formula.hpp"
#include "table/message.hpp"

namespace magva::formula {

namespace {

constexpr std::size_t kMostTerms = 10'000;
/// Of which many may be the same: a*b*...*k times itself.
constexpr std::size_t kMostProducts = 1'000'000;

bool is_number(const Node& node, double value) {
  return node.kind == NodeKind::number && node.value == value;
}

Interaction united(const Interaction& a, const Interaction& b) {
  Interaction both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

using TermList = std::vector<Interaction>;

void add(TermList& to, const TermList& terms) {
  std::set<Interaction> known(to.begin(), to.end());
  for (const Interaction& term : terms)
    if (known.insert(term).second) to.push_back(term);
}
void remove(TermList& from, const TermList& terms) {
  const std::set<Interaction> unwanted(terms.begin(), terms.end());
  std::erase_if(from, [&](const Interaction& term) { return unwanted.contains(term); });
}

/// Expands the right-hand side of one formula.
class Expander {
 public:
  Expander(const Formula& formula, std::vector<std::string> dot) : formula_(formula), dot_(std::move(dot)) {}

  ExpandedFormula expand(const Node& predictors) {
    terms_ = {Interaction{}};
    add_summands(predictors, true);
    out_.fixed.intercept = std::find(terms_.begin(), terms_.end(), Interaction{}) != terms_.end();
    std::erase(terms_, Interaction{});
    std::stable_sort(terms_.begin(), terms_.end(),
                     [](const Interaction& a, const Interaction& b) { return a.size() < b.size(); });
    out_.fixed.interactions = std::move(terms_);
    drop_unused_variables();
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const Node& at, const std::string& sentence) const {
    throw FormulaError(sentence, formula_.text, at.position);
  }

  /// The sums and differences at the top, where the intercept, offsets, smooth terms and groups may stand.
  void add_summands(const Node& node, bool plus) {
    if (node.is_operator("+") || node.is_operator("-")) {
      add_summands(node.children[0], plus);
      add_summands(node.children[1], plus == node.is_operator("+"));
      return;
    }
    if (node.kind == NodeKind::negate) {
      add_summands(node.children[0], !plus);
      return;
    }
    if (node.is_operator("|") || node.is_operator("||")) {
      if (!plus) fail(node, "a group term cannot be taken away; leave it out");
      if (!node.parenthesised) fail(node, "a group term needs parentheses, as in (1 | group)");
      add_group(node);
    } else if (node.is_call("offset")) {
      if (!plus) fail(node, "an offset cannot be taken away; leave it out");
      out_.offsets.push_back(only_argument(node));
    } else if (node.is_call("s")) {
      if (!plus) fail(node, "a smooth term cannot be taken away; leave it out");
      add_smooth(node);
    } else if (is_number(node, 0)) {
      const TermList intercept = {Interaction{}};
      plus ? remove(terms_, intercept) : add(terms_, intercept);
    } else {
      const TermList terms = evaluate(node);
      plus ? add(terms_, terms) : remove(terms_, terms);
    }
  }

  const Node& only_argument(const Node& call) const {
    if (call.children.size() != 1 || !call.children[0].label.empty())
      fail(call, fmt::format("{}() takes one argument", call.name));
    return call.children[0];
  }

  void add_smooth(const Node& node) {
    const std::string text = to_string(node);
    for (const Node& known : out_.smooths)
      if (to_string(known) == text) return;
    out_.smooths.push_back(node);
  }

  TermList evaluate(const Node& node) {
    if (node.kind == NodeKind::binary) return evaluate_operator(node);
    if (node.kind == NodeKind::number) {
      if (node.value != 1)
        fail(node,
             fmt::format("the number {} is no predictor; 1 stands for the intercept, and I() for arithmetic",
                         table::number_text(node.value)));
      return {Interaction{}};
    }
    if (node.kind == NodeKind::text) fail(node, "a text is no predictor");
    if (node.kind == NodeKind::negate) fail(node, "a term cannot be taken away here");
    if (node.is_call("offset") || node.is_call("s"))
      fail(node, fmt::format("{}() cannot be multiplied with other terms", node.name));
    if (node.kind == NodeKind::name && node.name == ".") return dot_terms();
    return {Interaction{number_of(node)}};
  }

  TermList dot_terms() {
    TermList terms;
    for (const std::string& column : dot_) {
      Node node;
      node.kind = NodeKind::name;
      node.name = column;
      terms.push_back({number_of(node)});
    }
    return terms;
  }

  TermList evaluate_operator(const Node& node) {
    const std::string& op = node.name;
    if (op == "^") return power(node);
    if (op == "|" || op == "||") fail(node, "a group term can only be added, as in x + (1 | group)");
    if (op != "+" && op != "-" && op != ":" && op != "*" && op != "/")
      fail(node, fmt::format("'{}' is arithmetic: write it inside I()", op));
    TermList left = evaluate(node.children[0]);
    const TermList right = evaluate(node.children[1]);
    if (op == "-") {
      remove(left, right);
      return left;
    }
    if (op == ":") return product(node, left, right);
    if (op == "+") {
      add(left, right);
      return left;
    }
    TermList all = left;
    if (op == "/") {
      // a/b is a + a:b, with all variables of a at once.
      Interaction outer;
      for (const Interaction& term : left) outer = united(outer, term);
      add(all, product(node, {outer}, right));
      return all;
    }
    add(all, right);
    add(all, product(node, left, right));
    return all;
  }

  TermList product(const Node& node, const TermList& left, const TermList& right) const {
    if (left.size() * right.size() > kMostProducts)
      fail(node, "the formula has more than 1000000 products of terms");
    TermList out;
    std::set<Interaction> known;
    for (const Interaction& a : left)
      for (const Interaction& b : right) {
        Interaction both = united(a, b);
        if (known.insert(both).second) out.push_back(std::move(both));
        if (out.size() > kMostTerms) fail(node, "the formula has more than 10000 terms");
      }
    return out;
  }

  TermList power(const Node& node) {
    const Node& exponent = node.children[1];
    if (exponent.kind != NodeKind::number || exponent.value < 1 || exponent.value > 20 ||
        exponent.value != std::floor(exponent.value))
      fail(exponent,
           "the power of terms must be a whole number from 1 to 20; write a power of a column as I(x^2)");
    const TermList base = evaluate(node.children[0]);
    TermList out = base;
    for (int i = 1; i < static_cast<int>(exponent.value); ++i) {
      TermList next = out;
      add(next, product(node, out, base));
      out = std::move(next);
    }
    return out;
  }

  std::size_t number_of(const Node& node) {
    const std::string text = to_string(node);
    for (std::size_t i = 0; i < texts_.size(); ++i)
      if (texts_[i] == text) return i;
    texts_.push_back(text);
    out_.fixed.variables.push_back(node);
    return texts_.size() - 1;
  }

  void add_group(const Node& node) {
    GroupSyntax group;
    group.effects = node.children[0];
    group.correlated = node.name == "|";
    group.position = node.position;
    for (std::vector<std::string>& columns : groupings(node.children[1])) {
      group.columns = std::move(columns);
      out_.groups.push_back(group);
    }
  }

  /// g: one grouping; a:b: the pairs of levels; a/b: a and a:b; a + b: both.
  std::vector<std::vector<std::string>> groupings(const Node& node) const {
    if (node.kind == NodeKind::name && node.name != ".") return {{node.name}};
    if (node.is_operator("+")) {
      auto all = groupings(node.children[0]);
      for (auto& more : groupings(node.children[1])) all.push_back(std::move(more));
      return all;
    }
    if (!node.is_operator(":") && !node.is_operator("/"))
      fail(node, "the group must be a column, as in (1 | school), or columns joined by ':' or '/'");
    const auto left = groupings(node.children[0]);
    const auto right = groupings(node.children[1]);
    if (right.size() != 1 || (node.is_operator(":") && left.size() != 1))
      fail(node, "groups can be nested as in a/b/c and joined as in a:b, but not both at once");
    std::vector<std::string> joined = left.back();
    joined.insert(joined.end(), right[0].begin(), right[0].end());
    if (node.is_operator(":")) return {joined};
    auto all = left;
    all.push_back(joined);
    return all;
  }

  /// Those of terms that were taken away again.
  void drop_unused_variables() {
    std::vector<Node>& variables = out_.fixed.variables;
    std::vector<std::size_t> now(variables.size(), 0);
    std::vector<Node> used;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      now[i] = used.size();
      const bool needed = std::any_of(
          out_.fixed.interactions.begin(), out_.fixed.interactions.end(),
          [&](const Interaction& term) { return std::binary_search(term.begin(), term.end(), i); });
      if (needed) used.push_back(std::move(variables[i]));
    }
    variables = std::move(used);
    for (Interaction& term : out_.fixed.interactions)
      for (std::size_t& variable : term) variable = now[variable];
  }

  const Formula& formula_;
  std::vector<std::string> dot_;
  TermList terms_;
  std::vector<std::string> texts_;
  ExpandedFormula out_;
};

template <class Visit>
void for_each_name(const Node& node, const Visit& visit) {
  if (node.kind == NodeKind::name) visit(node.name);
  for (const Node& child : node.children) {
    // The base of C(x, base=A) is a level, not a column.
    if (node.is_call("C") && child.label == "base") continue;
    for_each_name(child, visit);
  }
}

}  // namespace

std::vector<std::string> column_names(const Node& node) {
  std::vector<std::string> names;
  for_each_name(node, [&](const std::string& name) {
    if (name != "." && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  });
  return names;
}

bool has_dot(const Node& node) {
  bool found = false;
  for_each_name(node, [&](const std::string& name) { found = found || name == "."; });
  return found;
}

ExpandedFormula expand(const Formula& formula, const std::vector<std::string>& dot) {
  return Expander(formula, dot).expand(formula.predictors);
}

Terms expand_effects(const Formula& formula, const GroupSyntax& group) {
  ExpandedFormula inner = Expander(formula, {}).expand(group.effects);
  const auto fail = [&](const char* sentence) {
    throw FormulaError(sentence, formula.text, group.effects.position);
  };
  if (!inner.groups.empty()) fail("a group term cannot contain another");
  if (!inner.offsets.empty() || !inner.smooths.empty())
    fail("offset() and s() cannot stand inside a group term");
  if (has_dot(group.effects)) fail("'.' cannot stand inside a group term; name the columns");
  if (!inner.fixed.intercept && inner.fixed.interactions.empty()) fail("the group term has no effects");
  return std::move(inner.fixed);
}

}  // namespace magva::formula
