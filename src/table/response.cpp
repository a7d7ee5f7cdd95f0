#include "table/response.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "magva/error.hpp"
#include "table/message.hpp"

namespace magva::table {

namespace {

void require_numbers(const std::string& source, const Column& column, const char* role) {
  if (column.kind == ColumnKind::number) return;
  throw DataError(fmt::format("{}: the {} {} must hold numbers, but holds text such as {}", source, role,
                              excerpt(column.name), excerpt(column.levels.front())));
}

/// The distinct values with their counts, in the order of the classes: by number or text.
std::vector<std::pair<std::string, Index>> count_classes(const Column& column,
                                                         const ResponseSummary& values) {
  std::vector<std::pair<std::string, Index>> classes;
  for (const auto& [value, count] : values.distinct()) {
    const bool text = column.kind == ColumnKind::text;
    classes.emplace_back(text ? column.levels[static_cast<std::size_t>(value)] : number_text(value), count);
  }
  if (column.kind == ColumnKind::text) std::sort(classes.begin(), classes.end());
  return classes;
}

void check_two_classes(const std::string& source, const Column& column, const std::vector<std::string>& names,
                       bool more) {
  if (names.size() == 1)
    throw DataError(fmt::format("{}: the response {} has a single class, {}; two are needed", source,
                                excerpt(column.name), excerpt(names.front())));
  if (names.size() > 2)
    throw DataError(
        fmt::format("{}: the response {} has {}{} different values ({}) where two classes are needed", source,
                    excerpt(column.name), more ? "more than " : "", names.size(), name_list(names, 3)));
}

void learn_classes(ResponseSpec& spec, const std::string& source, const Column& column,
                   const ResponseSummary& values, const std::string& positive_class,
                   std::vector<std::string>& notes) {
  auto classes = count_classes(column, values);
  std::vector<std::string> names;
  for (const auto& [name, count] : classes) names.push_back(name);
  check_two_classes(source, column, names, values.too_many());
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

void check_not_constant(const std::string& source, const Column& column, const ResponseSummary& values) {
  if (values.distinct().size() != 1) return;
  throw DataError(fmt::format("{}: the response {} is {} in every row; there is nothing to explain", source,
                              excerpt(column.name), number_text(values.distinct().begin()->first)));
}

double class_value(const ResponseSpec& spec, const Table& table, const Column& column, Index row) {
  const std::string text = column.text(row);
  const auto found = std::find(spec.classes.begin(), spec.classes.end(), text);
  if (found == spec.classes.end())
    throw DataError(fmt::format("{}: {} is neither {} nor {}, the classes of the fit",
                                table.place_of(row, column.name), excerpt(text), excerpt(spec.classes[0]),
                                excerpt(spec.classes[1])));
  return static_cast<double>(found - spec.classes.begin());
}

double count_value(const Table& table, const Column& column, Index row) {
  const double value = column.values[row];
  if (value < 0 || value != std::floor(value))
    throw DataError(fmt::format("{}: {} is not a count; counts are 0, 1, 2, ...",
                                table.place_of(row, column.name), number_text(value)));
  return value;
}

}  // namespace

ResponseChoice choose_response_kind(const Column& response, const ResponseSummary& values) {
  if (response.kind == ColumnKind::text)
    return {ResponseKind::binary,
            fmt::format("'{}' holds text: logistic regression was chosen", response.name)};
  if (values.distinct().size() <= 2)
    return {ResponseKind::binary,
            fmt::format("'{}' has two classes: logistic regression was chosen", response.name)};
  if (values.counts() && values.smallest() == 0)
    return {ResponseKind::count,
            fmt::format("'{}' holds counts: Poisson regression was chosen (--model linear for the other)",
                        response.name)};
  return {ResponseKind::real, fmt::format("'{}' holds numbers: linear regression was chosen", response.name)};
}

ResponseSpec learn_response(const std::string& source, const Column& column, const ResponseSummary& values,
                            ResponseKind kind, const std::string& positive_class,
                            std::vector<std::string>& notes) {
  ResponseSpec spec;
  spec.column = column.name;
  spec.kind = kind;
  spec.text = column.kind == ColumnKind::text;
  if (kind == ResponseKind::binary) {
    learn_classes(spec, source, column, values, positive_class, notes);
    return spec;
  }
  require_numbers(source, column, "response");
  if (kind == ResponseKind::real) check_not_constant(source, column, values);
  return spec;
}

Vector response_values(const ResponseSpec& spec, const Table& table, const Column& column,
                       const std::vector<Index>& rows) {
  if (spec.kind != ResponseKind::binary) require_numbers(table.source, column, "response");
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
  require_numbers(table.source, column, "weights column");
  Vector weights(static_cast<Index>(rows.size()));
  for (Index i = 0; i < weights.size(); ++i) {
    const Index row = rows[static_cast<std::size_t>(i)];
    weights(i) = column.values[row];
    if (weights(i) < 0)
      throw DataError(fmt::format("{}: the weight {} is negative", table.place_of(row, column.name),
                                  number_text(weights(i))));
  }
  return weights;
}

void check_weights_not_all_zero(const std::string& source, const std::string& column, double largest) {
  if (largest == 0)
    throw DataError(fmt::format("{}: every weight in column {} is zero", source, excerpt(column)));
}

}  // namespace magva::table
