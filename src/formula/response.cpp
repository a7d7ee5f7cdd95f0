#include "formula/response.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "formula/arithmetic.hpp"
#include "formula/levels.hpp"
#include "table/message.hpp"

namespace magva::formula {

namespace {

using table::Column;
using table::ColumnKind;
using table::excerpt;
using table::Table;

void require_arguments(const Node& call, std::size_t least, std::size_t most, const Formula& formula) {
  if (call.children.size() < least || call.children.size() > most)
    throw FormulaError(
        fmt::format("{}() takes {} argument{}", call.name,
                    least == most ? fmt::format("{}", most) : fmt::format("{} or {}", least, most),
                    most == 1 ? "" : "s"),
        formula.text, call.position);
  for (const Node& argument : call.children)
    if (!argument.label.empty())
      throw FormulaError(fmt::format("{}() has no argument '{}'", call.name, argument.label), formula.text,
                         argument.position);
}

/// The column that the response is, if it is one.
const Column* plain_column(const FormulaResponse& response, const Table& table) {
  return response.first.kind == NodeKind::name ? table.find(response.first.name) : nullptr;
}

/// The values of a part of the response.
Vector values_of(const Node& expression, const Table& table, std::span<const Index> rows) {
  const Arithmetic arithmetic(expression, table);
  Vector out(static_cast<Index>(rows.size()));
  Index at = 0;
  for_each_block(rows, [&](std::span<const Index> some) {
    arithmetic.evaluate(some, out.data() + at);
    at += static_cast<Index>(some.size());
  });
  return out;
}

template <class Allowed>
void require_each(const Vector& values, const Table& table, std::span<const Index> rows,
                  const Node& expression, const char* rule, Allowed&& allowed) {
  for (Index i = 0; i < values.size(); ++i)
    if (!allowed(values(i)))
      throw DataError(fmt::format("{}: {} is {}, but {}", table.place_of(rows[static_cast<std::size_t>(i)]),
                                  to_string(expression), table::number_text(values(i)), rule));
}

bool is_count(double value) { return value >= 0 && value == std::floor(value); }

/// A row's class as a text.
std::string class_text(const Column* column, double value, Index row) {
  return column != nullptr && column->kind == ColumnKind::text ? column->text(row)
                                                               : table::number_text(value);
}

/// Distinct texts of the response with their counts, numbers by number and texts in sorted order.
std::vector<std::pair<std::string, Index>> count_classes(const FormulaResponse& response, const Table& table,
                                                         std::span<const Index> rows,
                                                         const table::TableRanks& ranks) {
  const Column* column = plain_column(response, table);
  std::vector<std::pair<std::string, Index>> out;
  if (column != nullptr && column->kind == ColumnKind::text) {
    std::map<std::string, Index> counts;
    ranks.in_turn(counts, [&] {
      for (const Index row : rows) ++counts[column->text(row)];
    });
    out.assign(counts.begin(), counts.end());
    return out;
  }
  std::map<double, Index> counts;
  ranks.in_turn(counts, [&] {
    for (const double value : values_of(response.first, table, rows)) {
      ++counts[value + 0.0];
      if (counts.size() > 1000)
        throw DataError(
            fmt::format("{}: the response {} has more than 1000 different values, too many for classes",
                        table.source, response.name));
    }
  });
  for (const auto& [value, count] : counts) out.emplace_back(table::number_text(value), count);
  return out;
}

void learn_two_classes(FormulaResponse& response, std::vector<std::pair<std::string, Index>> classes,
                       const Table& table, const std::string& positive, std::vector<std::string>& notes) {
  std::vector<std::string> names;
  for (const auto& [name, count] : classes) names.push_back(name);
  if (names.size() == 1)
    throw DataError(fmt::format("{}: the response {} is {} in every row: there is nothing to explain",
                                table.source, response.name, excerpt(names.front())));
  if (names.size() != 2)
    throw DataError(
        fmt::format("{}: the response {} has {} different values ({}) where two classes are needed",
                    table.source, response.name, names.size(), table::name_list(names, 3)));
  if (!positive.empty()) {
    if (std::find(names.begin(), names.end(), positive) == names.end())
      throw UsageError(fmt::format("the response {} has no class '{}', only {}", response.name, positive,
                                   table::name_list(names)));
    if (positive == names[0]) std::reverse(classes.begin(), classes.end());
  }
  response.classes = {classes[0].first, classes[1].first};
  notes.push_back(fmt::format("response {}: 1 stands for {} ({} rows), 0 for {} ({} rows)", response.name,
                              excerpt(classes[1].first), classes[1].second, excerpt(classes[0].first),
                              classes[0].second));
}

void learn_classes(FormulaResponse& response, const Table& table, std::span<const Index> rows,
                   const table::TableRanks& ranks, const std::string& positive,
                   std::vector<std::string>& notes) {
  auto classes = count_classes(response, table, rows, ranks);
  if (response.type == ResponseType::two_classes) {
    learn_two_classes(response, std::move(classes), table, positive, notes);
    return;
  }
  if (classes.size() < 2)
    throw DataError(fmt::format("{}: the response {} has a single class, {}; at least two are needed",
                                table.source, response.name, excerpt(classes.front().first)));
  constexpr std::size_t kMostClasses = 100;
  if (classes.size() > kMostClasses)
    throw DataError(fmt::format("{}: the response {} has {} different values, too many for classes",
                                table.source, response.name, classes.size()));
  std::string order;
  for (const auto& [name, count] : classes) {
    response.classes.push_back(name);
    order += fmt::format("{}{} ({} rows)", order.empty() ? "" : ", ", excerpt(name), count);
  }
  notes.push_back(fmt::format("response {}: classes in this order: {}", response.name, order));
}

/// 0 and 1, or 1 and 2 as in R's own data, or FALSE and TRUE: the larger one is an event.
void learn_status(FormulaResponse& response, const Table& table, std::span<const Index> rows,
                  const table::TableRanks& ranks, std::vector<std::string>& notes) {
  FormulaResponse status;
  status.first = response.second;
  status.name = to_string(response.second);
  const auto seen = count_classes(status, table, rows, ranks);
  std::set<std::string> names;
  for (const auto& [name, count] : seen) names.insert(name);
  static const std::array<std::pair<const char*, const char*>, 5> kCodings = {
      {{"0", "1"}, {"1", "2"}, {"FALSE", "TRUE"}, {"False", "True"}, {"false", "true"}}};
  for (const auto& [censored, event] : kCodings) {
    const bool fits =
        std::all_of(names.begin(), names.end(),
                    [&, c = censored, e = event](const std::string& name) { return name == c || name == e; });
    if (!fits) continue;
    response.classes = {censored, event};
    Index events = 0, all = 0;
    for (const auto& [name, count] : seen) {
      all += count;
      if (name == event) events += count;
    }
    if (events == 0)
      throw DataError(fmt::format("{}: {} is {} in every row: all times are censored", table.source,
                                  status.name, censored));
    notes.push_back(fmt::format("response {}: {} of {} rows are right-censored ({} = {})", response.name,
                                all - events, all, status.name, censored));
    return;
  }
  throw DataError(fmt::format(
      "{}: the status {} must be 0 (censored) and 1 (event), 1 and 2, or FALSE and TRUE, but has {}",
      table.source, status.name, table::name_list({names.begin(), names.end()}, 4)));
}

Vector class_numbers(const std::vector<std::string>& classes, const Node& expression, const Table& table,
                     std::span<const Index> rows) {
  const Column* column = expression.kind == NodeKind::name ? table.find(expression.name) : nullptr;
  const bool text = column != nullptr && column->kind == ColumnKind::text;
  Vector values = text ? Vector(static_cast<Index>(rows.size())) : values_of(expression, table, rows);
  for (Index i = 0; i < values.size(); ++i) {
    const Index row = rows[static_cast<std::size_t>(i)];
    const std::string name = class_text(column, values(i), row);
    const auto found = std::find(classes.begin(), classes.end(), name);
    if (found == classes.end())
      throw DataError(fmt::format("{}: {} is not among the classes of the fit ({})", table.place_of(row),
                                  excerpt(name), table::name_list(classes)));
    values(i) = static_cast<double>(found - classes.begin());
  }
  return values;
}

void check_trials(const EncodedFormula& out, const Table& table, std::span<const Index> rows,
                  const FormulaResponse& response) {
  for (Index i = 0; i < out.response.size(); ++i)
    if (out.response(i) > out.trials(i))
      throw DataError(fmt::format("{}: {} has {} successes in {} trials",
                                  table.place_of(rows[static_cast<std::size_t>(i)]), response.name,
                                  out.response(i), out.trials(i)));
}

constexpr const char* kCountRule = "counts are 0, 1, 2, ...";

void encode_counts(const FormulaResponse& response, const Table& table, std::span<const Index> rows,
                   EncodedFormula& out) {
  out.response = values_of(response.first, table, rows);
  require_each(out.response, table, rows, response.first, kCountRule, is_count);
  out.trials = encode_trials(response, table, rows);
  if (response.form == ResponseForm::counts) out.trials += out.response;
  check_trials(out, table, rows, response);
}

}  // namespace

Vector encode_trials(const FormulaResponse& response, const Table& table, std::span<const Index> rows) {
  Vector trials = values_of(response.second, table, rows);
  require_each(trials, table, rows, response.second, kCountRule, is_count);
  return trials;
}

FormulaResponse response_syntax(const Formula& formula) {
  const Node& node = formula.response;
  FormulaResponse out;
  out.name = to_string(node);
  out.first = node;
  out.second = number_node(1);
  if (node.is_operator("|")) {
    const Node& trials = node.children[1];
    if (!trials.is_call("trials"))
      throw FormulaError("after '|' in the response there must be trials(), as in successes | trials(n)",
                         formula.text, trials.position);
    require_arguments(trials, 1, 1, formula);
    out.form = ResponseForm::successes;
    out.first = node.children[0];
    out.second = trials.children[0];
  } else if (node.is_call("cbind")) {
    require_arguments(node, 2, 2, formula);
    out.form = ResponseForm::counts;
    out.first = node.children[0];
    out.second = node.children[1];
  } else if (node.is_call("Surv")) {
    require_arguments(node, 1, 2, formula);
    out.form = ResponseForm::survival;
    out.first = node.children[0];
    if (node.children.size() > 1) out.second = node.children[1];
  }
  for (Node* part : {&out.first, &out.second}) {
    part->label.clear();
    check_arithmetic(*part, formula.text);
  }
  return out;
}

void learn_response(FormulaResponse& response, const Table& table, std::span<const Index> rows,
                    const table::TableRanks& ranks, const std::string& positive_class,
                    std::vector<std::string>& notes) {
  const bool classes = response.type == ResponseType::two_classes || response.type == ResponseType::classes;
  if (!positive_class.empty() && response.type != ResponseType::two_classes)
    throw UsageError("positive class: only a response with two classes has one");
  const Column* column = plain_column(response, table);
  response.text = column != nullptr && column->kind == ColumnKind::text;
  if (response.form == ResponseForm::survival) {
    learn_status(response, table, rows, ranks, notes);
  } else if (response.form == ResponseForm::values && classes) {
    learn_classes(response, table, rows, ranks, positive_class, notes);
  } else if (response.text) {
    throw DataError(fmt::format("{}: the response {} must hold numbers, but holds text such as {}",
                                table.source, response.name, excerpt(column->levels.front())));
  }
}

void encode_response(const FormulaResponse& response, const Table& table, std::span<const Index> rows,
                     EncodedFormula& out) {
  if (response.form == ResponseForm::successes || response.form == ResponseForm::counts) {
    encode_counts(response, table, rows, out);
    return;
  }
  if (response.form == ResponseForm::values && !response.classes.empty()) {
    out.response = class_numbers(response.classes, response.first, table, rows);
    return;
  }
  out.response = values_of(response.first, table, rows);
  if (response.form == ResponseForm::survival) {
    require_each(out.response, table, rows, response.first, "survival times must be positive",
                 [](double value) { return value > 0; });
    out.status = class_numbers(response.classes, response.second, table, rows);
  } else if (response.type == ResponseType::count) {
    require_each(out.response, table, rows, response.first, kCountRule, is_count);
  }
}

std::optional<std::vector<std::string>> trials_columns(const FormulaResponse& response) {
  if (response.form != ResponseForm::successes) return std::nullopt;
  return column_names(response.second);
}

std::vector<std::string> response_columns(const FormulaResponse& response) {
  std::vector<std::string> names = column_names(response.first);
  for (std::string& name : column_names(response.second))
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  return names;
}

}  // namespace magva::formula
