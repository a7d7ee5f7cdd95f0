#include "input/response.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "input/message.hpp"
#include "input/nearest_name.hpp"
#include "magva/error.hpp"

namespace magva::input {

namespace {

std::string place_of(const Table& table, Index row, const Column& column) {
  return place(table.source, table.lines.line_of(row), column.name);
}

void require_numbers(const Table& table, const Column& column, const char* role) {
  if (column.kind == ColumnKind::number) return;
  throw DataError(fmt::format("{}: the {} {} must hold numbers, but holds text such as {}", table.source,
                              role, excerpt(column.name), excerpt(column.levels.front())));
}

/// The distinct values of the column in the given rows with their counts, in the order of the classes: by
/// number or text.
std::vector<std::pair<std::string, Index>> count_classes(const Column& column,
                                                         const std::vector<Index>& rows) {
  std::map<double, Index> counts;
  for (const Index row : rows) ++counts[column.values[row] + 0.0];
  std::vector<std::pair<std::string, Index>> classes;
  for (const auto& [value, count] : counts) {
    const bool text = column.kind == ColumnKind::text;
    classes.emplace_back(text ? column.levels[static_cast<std::size_t>(value)] : number_text(value), count);
  }
  if (column.kind == ColumnKind::text) std::sort(classes.begin(), classes.end());
  return classes;
}

void learn_classes(ResponseSpec& spec, const Table& table, const Column& column,
                   const std::vector<Index>& rows, const std::string& positive_class,
                   std::vector<std::string>& notes) {
  auto classes = count_classes(column, rows);
  std::vector<std::string> names;
  for (const auto& [name, count] : classes) names.push_back(name);
  if (classes.size() == 1)
    throw DataError(fmt::format("{}: the response {} has a single class, {}; two are needed", table.source,
                                excerpt(column.name), excerpt(names.front())));
  if (classes.size() > 2)
    throw DataError(
        fmt::format("{}: the response {} has {} different values ({}) where two classes are needed",
                    table.source, excerpt(column.name), classes.size(), name_list(names, 3)));
  if (!positive_class.empty()) {
    if (std::find(names.begin(), names.end(), positive_class) == names.end())
      throw UsageError(fmt::format("the response {} has no class '{}', only {}", excerpt(column.name),
                                   positive_class, name_list(names)));
    if (positive_class == names[0]) std::reverse(classes.begin(), classes.end());
  }
  spec.classes = {classes[0].first, classes[1].first};
  notes.push_back(fmt::format("response {}: 1 stands for {} ({} rows), 0 for {} ({} rows)",
                              excerpt(column.name), excerpt(spec.classes[1]), classes[1].second,
                              excerpt(spec.classes[0]), classes[0].second));
}

void refuse_constant(const Table& table, const Column& column, const std::vector<Index>& rows) {
  const double first = column.values[rows.front()];
  const bool constant =
      std::all_of(rows.begin(), rows.end(), [&](Index row) { return column.values[row] == first; });
  if (constant)
    throw DataError(fmt::format("{}: the response {} is {} in every row; there is nothing to explain",
                                table.source, excerpt(column.name), number_text(first)));
}

double class_value(const ResponseSpec& spec, const Table& table, const Column& column, Index row) {
  const std::string text = column.text(row);
  const auto found = std::find(spec.classes.begin(), spec.classes.end(), text);
  if (found == spec.classes.end())
    throw DataError(fmt::format("{}: {} is neither {} nor {}, the classes of the fit",
                                place_of(table, row, column), excerpt(text), excerpt(spec.classes[0]),
                                excerpt(spec.classes[1])));
  return static_cast<double>(found - spec.classes.begin());
}

double count_value(const Table& table, const Column& column, Index row) {
  const double value = column.values[row];
  if (value < 0 || value != std::floor(value))
    throw DataError(fmt::format("{}: {} is not a count; counts are 0, 1, 2, ...",
                                place_of(table, row, column), number_text(value)));
  return value;
}

}  // namespace

ResponseSpec learn_response(const Table& table, const Column& column, const std::vector<Index>& rows,
                            ResponseKind kind, const std::string& positive_class,
                            std::vector<std::string>& notes) {
  ResponseSpec spec;
  spec.column = column.name;
  spec.kind = kind;
  spec.text = column.kind == ColumnKind::text;
  if (kind == ResponseKind::binary) {
    learn_classes(spec, table, column, rows, positive_class, notes);
    return spec;
  }
  require_numbers(table, column, "response");
  if (kind == ResponseKind::real) refuse_constant(table, column, rows);
  return spec;
}

Vector response_values(const ResponseSpec& spec, const Table& table, const Column& column,
                       const std::vector<Index>& rows) {
  if (spec.kind != ResponseKind::binary) require_numbers(table, column, "response");
  Vector y(static_cast<Index>(rows.size()));
  for (Index i = 0; i < y.size(); ++i) {
    const Index row = rows[static_cast<std::size_t>(i)];
    switch (spec.kind) {
      case ResponseKind::binary:
        y(i) = class_value(spec, table, column, row);
        break;
      case ResponseKind::count:
        y(i) = count_value(table, column, row);
        break;
      case ResponseKind::real:
        y(i) = column.values[row];
        break;
    }
  }
  return y;
}

Vector weight_values(const Table& table, const Column& column, const std::vector<Index>& rows) {
  require_numbers(table, column, "weights column");
  Vector weights(static_cast<Index>(rows.size()));
  for (Index i = 0; i < weights.size(); ++i) {
    const Index row = rows[static_cast<std::size_t>(i)];
    weights(i) = column.values[row];
    if (weights(i) < 0)
      throw DataError(fmt::format("{}: the weight {} is negative", place_of(table, row, column),
                                  number_text(weights(i))));
  }
  if (weights.maxCoeff() == 0)
    throw DataError(fmt::format("{}: every weight in column {} is zero", table.source, excerpt(column.name)));
  return weights;
}

}  // namespace magva::input
