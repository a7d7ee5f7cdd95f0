#include "table/used_columns.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "magva/error.hpp"
#include "table/nearest_name.hpp"

namespace magva::input {

namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const Column& find(const Table& table, const std::string& name, const char* role) {
  const Column* column = table.find(name);
  if (column == nullptr)
    throw DataError(fmt::format("{} has no column '{}', named as {}{}", table.source, name, role,
                                suggestion(name, table.names())));
  return *column;
}

}  // namespace

std::vector<const Column*> UsedColumns::all() const {
  std::vector<const Column*> columns = predictors;
  columns.push_back(response);
  if (weights != nullptr) columns.push_back(weights);
  return columns;
}

bool wanted(const DesignOptions& options, const std::string& name) {
  return (options.columns.empty() || contains(options.columns, name)) && !contains(options.excluded, name);
}

UsedColumns used_columns(const Table& table, const DesignOptions& options) {
  if (options.response.empty() && !table.features)
    throw UsageError("no response is named; choose a column (--response)");
  UsedColumns used;
  used.response = &find(table, options.response.empty() ? "label" : options.response, "the response");
  if (!options.weights.empty()) used.weights = &find(table, options.weights, "the weights");
  if (!table.features) {
    for (const std::string& name : options.excluded) find(table, name, "an excluded column");
    for (const std::string& name : options.columns)
      if (&find(table, name, "a predictor") == used.response)
        throw UsageError(fmt::format("'{}' is the response and cannot be a predictor too", name));
  }
  for (const Column& column : table.columns)
    if (&column != used.response && &column != used.weights && wanted(options, column.name))
      used.predictors.push_back(&column);
  return used;
}

UsedColumns used_columns(const Table& table, const DesignSpec& spec) {
  UsedColumns used;
  used.response = &find(table, spec.response.column, "the response");
  if (!spec.weights.empty()) used.weights = &find(table, spec.weights, "the weights");
  for (const Term& term : spec.terms) used.predictors.push_back(&find(table, term.column, "a predictor"));
  return used;
}

}  // namespace magva::input
