#include "formula/arithmetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "table/message.hpp"

namespace magva::formula {

namespace {

struct Function {
  const char* name;
  double (*apply)(double);
};

constexpr std::array<Function, 13> kFunctions = {{
    {"I", [](double v) { return v; }},
    {"log", [](double v) { return std::log(v); }},
    {"log2", [](double v) { return std::log2(v); }},
    {"log10", [](double v) { return std::log10(v); }},
    {"log1p", [](double v) { return std::log1p(v); }},
    {"exp", [](double v) { return std::exp(v); }},
    {"expm1", [](double v) { return std::expm1(v); }},
    {"sqrt", [](double v) { return std::sqrt(v); }},
    {"abs", [](double v) { return std::abs(v); }},
    {"sin", [](double v) { return std::sin(v); }},
    {"cos", [](double v) { return std::cos(v); }},
    {"tan", [](double v) { return std::tan(v); }},
    {"scale", [](double v) { return v; }},  // learn_scales takes it out
}};

const Function* find_function(const std::string& name) {
  const auto* found =
      std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Function& f) { return name == f.name; });
  return found == kFunctions.end() ? nullptr : found;
}

[[noreturn]] void unknown_function(const Node& call, const std::string& text) {
  std::vector<std::string> known = {"C",      "factor", "as.factor", "poly",  "s",
                                    "offset", "cbind",  "Surv",      "trials"};
  if (std::find(known.begin(), known.end(), call.name) != known.end())
    throw FormulaError(fmt::format("{}() cannot stand here", call.name), text, call.position);
  for (const Function& function : kFunctions) known.emplace_back(function.name);
  throw FormulaError(
      fmt::format("there is no function {}(){}", call.name, table::suggestion(call.name, known)), text,
      call.position);
}

double apply_operator(const std::string& op, double a, double b) {
  switch (op[0]) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    case '^':
      return std::pow(a, b);
    case '<':
      return static_cast<double>(op == "<" ? a < b : a <= b);
    case '>':
      return static_cast<double>(op == ">" ? a > b : a >= b);
    default:
      return static_cast<double>(op == "==" ? a == b : a != b);
  }
}

Node binary(const char* op, Node a, Node b) {
  Node node;
  node.kind = NodeKind::binary;
  node.name = op;
  node.position = a.position;
  node.children = {std::move(a), std::move(b)};
  return node;
}

}  // namespace

Node number_node(double value) {
  Node node;
  node.value = value;
  return node;
}

void check_arithmetic(const Node& node, const std::string& text) {
  switch (node.kind) {
    case NodeKind::text:
      throw FormulaError("a text cannot stand in arithmetic", text, node.position);
    case NodeKind::call:
      if (find_function(node.name) == nullptr) unknown_function(node, text);
      if (node.children.size() != 1 || !node.children[0].label.empty())
        throw FormulaError(fmt::format("{}() takes one argument", node.name), text, node.position);
      break;
    case NodeKind::binary:
      if (node.name == ":" || node.name == "|" || node.name == "||")
        throw FormulaError(fmt::format("'{}' stands between terms; it is no arithmetic", node.name), text,
                           node.position);
      break;
    case NodeKind::name:
      if (node.name == ".") throw FormulaError("'.' cannot stand in arithmetic", text, node.position);
      break;
    default:
      break;
  }
  for (const Node& child : node.children) check_arithmetic(child, text);
}

void for_each_block(std::span<const Index> rows, const std::function<void(std::span<const Index>)>& visit) {
  const auto block = static_cast<std::size_t>(kBlockRows);
  for (std::size_t begin = 0; begin < rows.size(); begin += block)
    visit(rows.subspan(begin, std::min(block, rows.size() - begin)));
}

Arithmetic::Arithmetic(Node expression, const table::Table& table)
    : expression_(std::move(expression)), table_(&table) {
  bind(expression_);
}

void Arithmetic::bind(const Node& node) {
  for (const Node& child : node.children) bind(child);
  if (node.kind != NodeKind::name) return;
  const table::Column* column = table_->find(node.name);
  if (column == nullptr)
    throw DataError(fmt::format("{} has no column '{}', which the formula needs{}", table_->source, node.name,
                                table::suggestion(node.name, table_->names())));
  if (column->kind == table::ColumnKind::text)
    throw DataError(fmt::format(
        "{}: column '{}' holds text such as {}, but {} needs numbers", table_->source, node.name,
        table::excerpt(column->levels.empty() ? "" : column->levels.front()), to_string(expression_)));
  columns_.emplace_back(node.name, column);
}

void Arithmetic::evaluate(const Node& node, std::span<const Index> rows, double* out) const {
  const std::size_t n = rows.size();
  if (node.kind == NodeKind::number) {
    std::fill_n(out, n, node.value);
  } else if (node.kind == NodeKind::name) {
    const auto found = std::find_if(columns_.begin(), columns_.end(),
                                    [&](const auto& column) { return column.first == node.name; });
    for (std::size_t i = 0; i < n; ++i) out[i] = found->second->values[rows[i]];
  } else if (node.kind == NodeKind::binary) {
    std::array<double, static_cast<std::size_t>(kBlockRows)> right;
    evaluate(node.children[0], rows, out);
    evaluate(node.children[1], rows, right.data());
    for (std::size_t i = 0; i < n; ++i) out[i] = apply_operator(node.name, out[i], right[i]);
  } else {
    evaluate(node.children[0], rows, out);
    if (node.kind == NodeKind::negate) {
      for (std::size_t i = 0; i < n; ++i) out[i] = -out[i];
    } else {
      const Function* function = find_function(node.name);
      for (std::size_t i = 0; i < n; ++i) out[i] = function->apply(out[i]);
    }
  }
}

void Arithmetic::check_finite(std::span<const Index> rows, const double* values) const {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!std::isfinite(values[i]))
      throw DataError(fmt::format("{}: {} is {}; change the formula, or leave the row out",
                                  table_->place_of(rows[i]), to_string(expression_),
                                  std::isnan(values[i]) ? "not a number" : fmt::format("{}", values[i])));
}

void Arithmetic::evaluate(std::span<const Index> rows, double* out) const {
  evaluate(expression_, rows, out);
  if (expression_.kind != NodeKind::name) check_finite(rows, out);
}

namespace {

/// Welford's recurrence.
struct RunningMoments {
  long double count = 0, mean = 0, squares = 0;

  void add(double value) {
    const long double before = value - mean;
    mean += before / ++count;
    squares += before * (value - mean);
  }
};

}  // namespace

Node learn_scales(Node expression, const table::Table& table, std::span<const Index> rows,
                  const table::TableRanks& ranks) {
  for (Node& child : expression.children) child = learn_scales(std::move(child), table, rows, ranks);
  if (!expression.is_call("scale")) return expression;
  const Node inner = expression.children[0];
  const Arithmetic values(inner, table);
  std::array<double, static_cast<std::size_t>(kBlockRows)> block;
  RunningMoments moments;
  ranks.in_turn(moments, [&] {
    for_each_block(rows, [&](std::span<const Index> some) {
      values.evaluate(some, block.data());
      for (std::size_t i = 0; i < some.size(); ++i) moments.add(block[i]);
    });
  });
  const auto sd = static_cast<double>(std::sqrt(moments.squares / (moments.count - 1)));
  if (!(sd > 0) || !std::isfinite(sd))
    throw DataError(fmt::format("{}: {} is constant and cannot be scaled", table.source, to_string(inner)));
  Node learnt =
      binary("/", binary("-", inner, number_node(static_cast<double>(moments.mean))), number_node(sd));
  learnt.position = expression.position;
  return learnt;
}

}  // namespace magva::formula
