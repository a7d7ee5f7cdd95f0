// Learns a formula from the table of a fit.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "formula/design_columns.hpp"
#include "formula/encode.hpp"
#include "formula/learn.hpp"
#include "formula/response.hpp"
#include "magva/priors.hpp"
#include "table/encode_rows.hpp"
#include "table/message.hpp"
#include "table/response.hpp"

namespace magva::formula {

namespace {

using table::Column;
using table::ColumnKind;
using table::excerpt;
using table::Table;

/// In so many rows a factor with another level in each is a name or a key.
constexpr std::size_t kFewestRowsOfKeys = 10;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_factor_call(const Node& node) {
  return node.is_call("C") || node.is_call("factor") || node.is_call("as.factor");
}

class Learner {
 public:
  Learner(const Table& table, const LearnOptions& options, const table::TableRanks& ranks)
      : table_(table), options_(options), ranks_(ranks), formula_(parse(options.formula)) {}

  LearntFormula learn() {
    if (table_.features)
      throw UsageError("a LIBSVM file has no named columns for a formula; name its response with --response");
    spec().formula = options_.formula;
    spec().weights = options_.weights;
    spec().response = response_syntax(formula_);
    spec().response.type = options_.type;
    expanded_ = expand(formula_, dot_columns());
    if (expanded_.fixed.interactions.empty() && !expanded_.fixed.intercept && expanded_.smooths.empty() &&
        expanded_.groups.empty())
      fail(formula_.predictors, "the formula has no predictors and no intercept");
    check_columns();
    if (!ranks_.alone() && !expanded_.groups.empty())
      throw UsageError(
          "mpirun is for regressions with one linear predictor: fit a formula with groups without it");
    choose_rows();
    learn_fixed();
    for (const Node& offset : expanded_.offsets) spec().offsets.push_back(arithmetic(offset));
    for (const Node& smooth : expanded_.smooths) learn_smooth(smooth);
    for (const GroupSyntax& group : expanded_.groups) learn_group(group);
    learn_response(spec().response, table_, rows(), ranks_, options_.positive_class, notes());
    leave_out_columns(table_, rows(), ranks_, spec(), notes());
    check_names_differ();
    encode_all();
    return std::move(out_);
  }

 private:
  FormulaSpec& spec() { return out_.spec; }
  std::vector<Index>& rows() { return out_.rows.rows; }
  std::vector<std::string>& notes() { return out_.rows.notes; }

  [[noreturn]] void fail(const Node& at, const std::string& sentence) const {
    throw FormulaError(sentence, formula_.text, at.position);
  }

  /// Every column but the response's, the weights, the groups' and those that are excluded.
  std::vector<std::string> dot_columns() {
    if (!has_dot(formula_.predictors)) return {};
    std::vector<std::string> taken = response_columns(spec().response);
    taken.push_back(options_.weights);
    taken.insert(taken.end(), options_.excluded.begin(), options_.excluded.end());
    const ExpandedFormula without = expand(formula_, {});
    for (const GroupSyntax& group : without.groups)
      taken.insert(taken.end(), group.columns.begin(), group.columns.end());
    for (const Node& offset : without.offsets)
      for (std::string& name : column_names(offset)) taken.push_back(std::move(name));
    std::vector<std::string> dot;
    for (const Column& column : table_.columns)
      if (!contains(taken, column.name)) dot.push_back(column.name);
    return dot;
  }

  void check_column(const std::string& name, std::size_t position) const {
    if (table_.find(name) == nullptr)
      throw FormulaError(fmt::format("{} has no column '{}'{}", table_.source, name,
                                     table::suggestion(name, table_.names())),
                         formula_.text, position);
  }

  void check_names(const Node& node) const {
    if (node.kind == NodeKind::name && node.name != ".") check_column(node.name, node.position);
    for (const Node& child : node.children)
      if (!(node.is_call("C") && child.label == "base")) check_names(child);
  }

  void check_columns() const {
    check_names(formula_.response);
    check_names(formula_.predictors);
    if (!options_.weights.empty() && table_.find(options_.weights) == nullptr)
      throw DataError(fmt::format("{} has no column '{}', named as the weights{}", table_.source,
                                  options_.weights, table::suggestion(options_.weights, table_.names())));
    for (const std::string& name : options_.excluded)
      if (table_.find(name) == nullptr)
        throw DataError(fmt::format("{} has no column '{}', named as an excluded column{}", table_.source,
                                    name, table::suggestion(name, table_.names())));
    for (const std::string& name : response_columns(out_.spec.response))
      for (const Node& variable : expanded_.fixed.variables)
        if (variable.kind == NodeKind::name && variable.name == name)
          fail(variable, fmt::format("'{}' is the response and cannot be a predictor too", name));
  }

  /// The rows that have no missing cell in a column that the formula names.
  void choose_rows() {
    std::vector<std::string> names = response_columns(spec().response);
    const auto add = [&](const Node& node) {
      for (std::string& name : column_names(node))
        if (!contains(names, name)) names.push_back(std::move(name));
    };
    for (const Node& variable : expanded_.fixed.variables) add(variable);
    for (const Node& offset : expanded_.offsets) add(offset);
    for (const Node& smooth : expanded_.smooths) add(smooth);
    for (const GroupSyntax& group : expanded_.groups) {
      add(group.effects);
      for (const std::string& name : group.columns)
        if (!contains(names, name)) names.push_back(name);
    }
    if (!options_.weights.empty() && !contains(names, options_.weights)) names.push_back(options_.weights);
    table::MissingCells cells;
    ranks_.in_turn(cells, [&] { rows() = cells.add(table_, find_columns(table_, names)); });
    cells.finalize(table_.source, options_.missing, notes());
    rows_of_all_ = static_cast<std::size_t>(cells.complete());
  }

  Node arithmetic(const Node& node) {
    check_arithmetic(node, formula_.text);
    Node clean = node;
    clean.label.clear();
    return learn_scales(std::move(clean), table_, rows(), ranks_);
  }

  std::size_t variable_number(const Node& node) {
    Variable variable = is_factor_call(node) || is_text_column(node) ? factor_variable(node)
                        : node.is_call("poly")                       ? polynomial_variable(node)
                                                                     : number_variable(node);
    for (std::size_t i = 0; i < spec().variables.size(); ++i)
      if (spec().variables[i].name == variable.name) return i;
    spec().variables.push_back(std::move(variable));
    return spec().variables.size() - 1;
  }

  bool is_text_column(const Node& node) const {
    return node.kind == NodeKind::name && table_.find(node.name)->kind == ColumnKind::text;
  }

  Variable number_variable(const Node& node) {
    return {node.kind == NodeKind::name ? node.name : to_string(node), NumberVariable{arithmetic(node)}};
  }

  Variable polynomial_variable(const Node& node) {
    PolynomialVariable polynomial;
    std::size_t unnamed = 0;
    for (const Node& argument : node.children) {
      if (argument.label == "raw" && argument.kind == NodeKind::name)
        polynomial.raw = argument.name == "TRUE" || argument.name == "T";
      else if (argument.label == "degree" || (argument.label.empty() && unnamed++ == 1))
        polynomial.degree = whole_number(argument, 1, 20);
      else if (argument.label.empty() && unnamed == 1)
        polynomial.expression = arithmetic(argument);
      else
        fail(argument, "poly() takes a column and a degree, as in poly(x, 2), and perhaps raw=TRUE");
    }
    if (unnamed == 0) fail(node, "poly() needs a column, as in poly(x, 2)");
    check_distinct(node, polynomial);
    learn_polynomial(polynomial, table_, rows(), ranks_);
    return {to_string(node), std::move(polynomial)};
  }

  void check_distinct(const Node& node, const PolynomialVariable& polynomial) const {
    const Arithmetic values(polynomial.expression, table_);
    std::array<double, static_cast<std::size_t>(kBlockRows)> block;
    std::set<double> seen;
    const auto add_block = [&](std::span<const Index> some) {
      if (static_cast<Index>(seen.size()) > polynomial.degree) return;
      values.evaluate(some, block.data());
      seen.insert(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(some.size()));
    };
    ranks_.in_turn(seen, [&] { for_each_block(out_.rows.rows, add_block); });
    if (static_cast<Index>(seen.size()) <= polynomial.degree)
      fail(node,
           fmt::format("a polynomial of degree {} needs more than {} different values, but there are {}",
                       polynomial.degree, polynomial.degree, seen.size()));
  }

  Index whole_number(const Node& node, Index least, Index most) const {
    if (node.kind != NodeKind::number || node.value != std::floor(node.value) ||
        node.value < static_cast<double>(least) || node.value > static_cast<double>(most))
      fail(node, fmt::format("there must be a whole number from {} to {} here", least, most));
    return static_cast<Index>(node.value);
  }

  Variable factor_variable(const Node& node) {
    const Node& argument = node.kind == NodeKind::call && !node.children.empty() ? node.children[0] : node;
    if (argument.kind != NodeKind::name) fail(node, fmt::format("{}() needs a column", node.name));
    const Column& column = *table_.find(argument.name);
    FactorVariable factor;
    factor.column = argument.name;
    factor.text = column.kind == ColumnKind::text;
    factor.levels = levels_of(column, rows(), ranks_);
    if (factor.levels.size() < 2)
      fail(node, fmt::format("'{}' has a single level, {}, in all rows that are used: leave it out",
                             argument.name, excerpt(factor.levels.front())));
    if (static_cast<Index>(factor.levels.size()) > options_.max_levels)
      fail(node, fmt::format(
                     "'{}' has {} levels, too many for a coefficient each; use it as a group, as in (1 | {})",
                     argument.name, factor.levels.size(), quoted_name(argument.name)));
    if (factor.levels.size() == rows_of_all_ && rows_of_all_ >= kFewestRowsOfKeys)
      fail(node,
           fmt::format("'{}' has another level in each of the {} rows, like a name or a key: leave it out",
                       argument.name, rows_of_all_));
    for (std::size_t i = 1; node.kind == NodeKind::call && i < node.children.size(); ++i)
      factor.base = base_level(node, node.children[i], factor.levels);
    notes().push_back(fmt::format("factor '{}': {} levels, base {}{}", argument.name, factor.levels.size(),
                                  excerpt(factor.levels[static_cast<std::size_t>(factor.base)]),
                                  empty_levels(column, factor.levels)));
    return {argument.name, std::move(factor)};
  }

  /// Says which texts are in rows that were left out alone.
  std::string empty_levels(const Column& column, const std::vector<std::string>& levels) const {
    std::vector<std::string> empty;
    for (const std::string& level : ranks_.alone() ? column.levels : std::vector<std::string>{})
      if (!std::binary_search(levels.begin(), levels.end(), level)) empty.push_back(level);
    return empty.empty() ? "" : fmt::format("; no complete row has {}", table::name_list(empty));
  }

  Index base_level(const Node& call, const Node& argument, const std::vector<std::string>& levels) const {
    if (!call.is_call("C") || argument.label != "base")
      fail(argument,
           "the levels of a factor are compared with a base, as in C(site, base=A); there is no other "
           "argument");
    const std::string wanted =
        argument.kind == NodeKind::number ? table::number_text(argument.value) : argument.name;
    const auto found = std::find(levels.begin(), levels.end(), wanted);
    if (found == levels.end())
      fail(argument, fmt::format("'{}' has no level '{}'; it has {}", call.children[0].name, wanted,
                                 table::name_list(levels)));
    return found - levels.begin();
  }

  /// R's rule (Chambers & Hastie 1992, page 38): a factor is coded by contrasts if an earlier term contains
  /// the rest of its own term; without an intercept the first factor of all has an indicator for each level.
  ColumnSet code_terms(const Terms& terms) {
    ColumnSet columns;
    columns.intercept = terms.intercept;
    std::vector<std::size_t> number;
    for (const Node& variable : terms.variables) number.push_back(variable_number(variable));
    bool intercept_is_missing = !terms.intercept;
    for (auto term = terms.interactions.begin(); term != terms.interactions.end(); ++term) {
      std::vector<CodedVariable> coded;
      for (const std::size_t variable : *term) {
        Interaction margin = *term;
        std::erase(margin, variable);
        bool contrasts =
            margin.empty() || std::any_of(terms.interactions.begin(), term, [&](const Interaction& t) {
              return std::includes(t.begin(), t.end(), margin.begin(), margin.end());
            });
        if (intercept_is_missing && spec().variables[number[variable]].is_factor())
          contrasts = intercept_is_missing = false;
        coded.push_back({number[variable], !contrasts});
      }
      columns.terms.push_back(std::move(coded));
    }
    return columns;
  }

  void learn_fixed() { spec().fixed = code_terms(expanded_.fixed); }

  void learn_smooth(const Node& node) {
    SmoothSpec smooth;
    if (node.children.empty() || !node.children[0].label.empty())
      fail(node, "s() needs a column, as in s(age)");
    smooth.expression = arithmetic(node.children[0]);
    smooth.name = fmt::format("s({})", to_string(node.children[0]));
    for (std::size_t i = 1; i < node.children.size(); ++i) {
      if (node.children[i].label != "k")
        fail(node.children[i],
             "s() takes a column and perhaps the number of basis functions, as in s(age, k=20)");
      smooth.functions = whole_number(node.children[i], 5, 1000);
    }
    const Arithmetic values(smooth.expression, table_);
    Vector x(static_cast<Index>(rows().size()));
    Index at = 0;
    ranks_.together([&] {
      for_each_block(rows(), [&](std::span<const Index> some) {
        values.evaluate(some, x.data() + at);
        at += static_cast<Index>(some.size());
      });
    });
    const SmoothBasis basis = smooth_basis(node, ranks_.gather(std::move(x)), smooth.functions);
    smooth.functions = basis.basis().functions();
    smooth.lower = basis.basis().lower();
    smooth.upper = basis.basis().upper();
    smooth.transform = basis.transform();
    smooth.means = basis.means();
    spec().smooths.push_back(std::move(smooth));
  }

  SmoothBasis smooth_basis(const Node& node, const Vector& x, Index functions) const {
    try {
      return SmoothBasis(x, functions);
    } catch (const DataError& error) {
      fail(node, error.what());
    }
  }

  void learn_group(const GroupSyntax& syntax) {
    GroupSpec group;
    group.columns = syntax.columns;
    group.correlated = syntax.correlated;
    for (const std::string& name : syntax.columns) {
      group.name += (group.name.empty() ? "" : ":") + name;
      group.text.push_back(table_.find(name)->kind == ColumnKind::text);
    }
    const auto columns = find_columns(table_, group.columns);
    const Grouping grouping = group_rows(columns, rows());
    for (const std::int32_t level : level_order(columns, grouping.representatives))
      group.levels.push_back(level_name(columns, grouping.representatives[static_cast<std::size_t>(level)]));
    group.effects = code_terms(expand_effects(formula_, syntax));
    check_group(syntax, group);
    check_groups_differ(syntax, group, grouping);
    spec().groups.push_back(std::move(group));
  }

  /// A factor that divides the rows as another one does, under another name: their effects cannot be told
  /// apart.
  void check_groups_differ(const GroupSyntax& syntax, const GroupSpec& group,
                           const Grouping& grouping) const {
    for (const GroupSpec& known : out_.spec.groups)
      if (known.name != group.name && known.levels.size() == group.levels.size() &&
          group_rows(find_columns(table_, known.columns), out_.rows.rows).group == grouping.group)
        throw FormulaError(fmt::format("the groups '{}' and '{}' are the same rows: leave one of them out",
                                       known.name, group.name),
                           formula_.text, syntax.position);
  }

  void check_group(const GroupSyntax& syntax, const GroupSpec& group) {
    const auto refuse = [&](const std::string& sentence) {
      throw FormulaError(sentence, formula_.text, syntax.position);
    };
    if (group.levels.size() < 2)
      refuse(fmt::format("the group '{}' has a single level, {}: its spread cannot be learnt", group.name,
                         excerpt(group.levels.front())));
    const auto effects = static_cast<std::size_t>(ColumnLayout(spec().variables, group.effects).kept);
    const bool gaussian_like = options_.type == ResponseType::number;
    if (group.levels.size() * effects > rows().size() ||
        (gaussian_like && group.levels.size() * effects == rows().size()))
      refuse(fmt::format(
          "the group '{}' has {} levels with {} effect{} each for {} rows: more random effects than "
          "the data can tell apart",
          group.name, group.levels.size(), effects, effects == 1 ? "" : "s", rows().size()));
    for (const GroupSpec& known : spec().groups)
      if (known.name == group.name)
        for (const std::string& name : spec().names(known.effects))
          if (contains(spec().names(group.effects), name))
            refuse(fmt::format("the group '{}' has the effect '{}' twice", group.name, name));
  }

  void check_names_differ() {
    std::set<std::string> seen;
    for (const std::string& name : spec().names())
      if (!seen.insert(name).second)
        throw DataError(
            fmt::format("{}: two coefficients would be named '{}'; rename a column", table_.source, name));
  }

  void encode_all() {
    EncodedFormula& encoded = out_.rows;
    ranks_.together([&] { encoded.x = encode_design(spec(), table_, rows()); });
    centre_design(options_, ranks_, out_);
    ranks_.together([&] {
      encoded.offset = encode_offset(spec(), table_, rows());
      encoded.groups = encode_groups(spec(), table_, rows());
      encode_response(spec().response, table_, rows(), encoded);
      if (!options_.weights.empty())
        encoded.weights = table::weight_values(table_, *table_.find(options_.weights), rows());
    });
    if (!options_.weights.empty() && ranks_.all(rows().empty() || encoded.weights.maxCoeff() == 0))
      table::check_weights_not_all_zero(table_.source, options_.weights, 0);
  }

  const Table& table_;
  const LearnOptions& options_;
  const table::TableRanks& ranks_;
  std::size_t rows_of_all_ = 0;  ///< that are used
  Formula formula_;
  ExpandedFormula expanded_;
  LearntFormula out_;
};

}  // namespace

TypeChoice choose_type(const Formula& formula, const Table& table, const table::TableRanks& ranks) {
  const FormulaResponse response = response_syntax(formula);
  if (response.form == ResponseForm::survival)
    return {ResponseType::number, response.form, fmt::format("{} is a survival time", response.name)};
  if (response.form != ResponseForm::values)
    return {ResponseType::count, response.form, fmt::format("{} counts successes", response.name)};
  const Column* column = response.first.kind == NodeKind::name ? table.find(response.first.name) : nullptr;
  if (column == nullptr)
    return {ResponseType::number, response.form, fmt::format("{} holds numbers", response.name)};
  table::ResponseSummary seen;
  ranks.in_turn(seen, [&] { seen.add(*column); });
  if (column->kind == ColumnKind::text)
    return {seen.distinct().size() > 2 ? ResponseType::classes : ResponseType::two_classes, response.form,
            fmt::format("'{}' holds text", column->name)};
  if (seen.distinct().size() <= 2)
    return {ResponseType::two_classes, response.form, fmt::format("'{}' has two classes", column->name)};
  if (seen.counts() && seen.smallest() == 0)
    return {ResponseType::count, response.form, fmt::format("'{}' holds counts", column->name)};
  return {ResponseType::number, response.form, fmt::format("'{}' holds numbers", column->name)};
}

TypeChoice choose_type(const Formula& formula, const Table& table) {
  return choose_type(formula, table, table::TableRanks());
}

LearntFormula learn(const Table& table, const LearnOptions& options, const table::TableRanks& ranks) {
  return Learner(table, options, ranks).learn();
}

LearntFormula learn(const Table& table, const LearnOptions& options) {
  return learn(table, options, table::TableRanks());
}

}  // namespace magva::formula
