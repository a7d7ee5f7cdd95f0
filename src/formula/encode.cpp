#include "formula/encode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "formula/response.hpp"
#include "magva/priors.hpp"
#include "table/encode_rows.hpp"
#include "table/message.hpp"
#include "table/response.hpp"

namespace magva::formula {

namespace {

constexpr Index kSplineDegree = 3;

void add_unique(std::vector<std::string>& to, std::vector<std::string> names) {
  for (std::string& name : names)
    if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(std::move(name));
}

const Node* expression_of(const Variable& variable) {
  if (const auto* number = std::get_if<NumberVariable>(&variable.encoding)) return &number->expression;
  if (const auto* polynomial = std::get_if<PolynomialVariable>(&variable.encoding))
    return &polynomial->expression;
  return nullptr;
}

void fill_smooth(const SmoothSpec& smooth, const Arithmetic& covariate, std::span<const Index> rows,
                 RowMatrix& x, Index first_row, Index first_column) {
  const SmoothBasis basis(BSplineBasis(smooth.functions, kSplineDegree, smooth.lower, smooth.upper),
                          smooth.transform, smooth.means);
  Vector values(static_cast<Index>(rows.size()));
  covariate.evaluate(rows, values.data());
  x.block(first_row, first_column, values.size(), smooth.columns()) = basis(values);
}

}  // namespace

std::vector<const table::Column*> find_columns(const table::Table& table,
                                               const std::vector<std::string>& names) {
  std::vector<const table::Column*> columns;
  for (const std::string& name : names) {
    columns.push_back(table.find(name));
    if (columns.back() == nullptr)
      throw DataError(fmt::format("{} has no column '{}', which the formula needs{}", table.source, name,
                                  table::suggestion(name, table.names())));
  }
  return columns;
}

std::vector<std::string> predictor_columns(const FormulaSpec& spec) {
  std::vector<std::string> names;
  for (const Variable& variable : spec.variables) {
    if (const Node* expression = expression_of(variable))
      add_unique(names, column_names(*expression));
    else
      add_unique(names, {std::get<FactorVariable>(variable.encoding).column});
  }
  for (const Node& offset : spec.offsets) add_unique(names, column_names(offset));
  for (const SmoothSpec& smooth : spec.smooths) add_unique(names, column_names(smooth.expression));
  return names;
}

RowMatrix encode_design(const FormulaSpec& spec, const table::Table& table, std::span<const Index> rows) {
  const ColumnLayout layout(spec.variables, spec.fixed);
  RowMatrix x = RowMatrix::Zero(static_cast<Index>(rows.size()), layout.kept + spec.smooth_columns());
  RowEncoder encoder(spec.variables, table);
  std::vector<Arithmetic> covariates;
  for (const SmoothSpec& smooth : spec.smooths) covariates.emplace_back(smooth.expression, table);
  Index at = 0;
  for_each_block(rows, [&](std::span<const Index> some) {
    encoder.load(some);
    const auto count = static_cast<Index>(some.size());
    for (Index i = 0; i < count; ++i) encoder.fill(spec.fixed, layout, i, &x(at + i, 0));
    Index column = layout.kept;
    for (std::size_t k = 0; k < covariates.size(); ++k) {
      fill_smooth(spec.smooths[k], covariates[k], some, x, at, column);
      column += spec.smooths[k].columns();
    }
    if (spec.centre.size() > 0)
      x.middleRows(at, count) =
          ((x.middleRows(at, count).rowwise() - spec.centre.transpose()).array().rowwise() /
           spec.scale.transpose().array())
              .matrix();
    at += count;
  });
  return x;
}

Vector encode_offset(const FormulaSpec& spec, const table::Table& table, std::span<const Index> rows) {
  if (spec.offsets.empty()) return {};
  Vector offset = Vector::Zero(static_cast<Index>(rows.size()));
  std::array<double, static_cast<std::size_t>(kBlockRows)> block;
  for (const Node& expression : spec.offsets) {
    const Arithmetic arithmetic(expression, table);
    Index at = 0;
    for_each_block(rows, [&](std::span<const Index> some) {
      arithmetic.evaluate(some, block.data());
      for (std::size_t i = 0; i < some.size(); ++i) offset(at++) += block[i];
    });
  }
  return offset;
}

std::vector<EncodedGroup> encode_groups(const FormulaSpec& spec, const table::Table& table,
                                        std::span<const Index> rows) {
  std::vector<EncodedGroup> out;
  for (const GroupSpec& group : spec.groups) {
    const auto columns = find_columns(table, group.columns);
    Grouping grouping = group_rows(columns, rows);
    std::unordered_map<std::string, std::int32_t> known;
    for (std::size_t level = 0; level < group.levels.size(); ++level)
      known.emplace(group.levels[level], static_cast<std::int32_t>(level));
    std::vector<std::int32_t> number;
    for (const Index row : grouping.representatives) {
      const auto found = known.find(level_name(columns, row));
      number.push_back(found == known.end() ? kNewGroup : found->second);
    }
    for (std::int32_t& own : grouping.group) own = number[static_cast<std::size_t>(own)];
    const bool intercept_alone = group.effects.intercept && group.effects.terms.empty();
    const ColumnLayout layout(spec.variables, group.effects);
    if (intercept_alone) {
      out.push_back({std::move(grouping.group), {}});
      continue;
    }
    RowMatrix z = RowMatrix::Zero(static_cast<Index>(rows.size()), layout.kept);
    RowEncoder encoder(spec.variables, table);
    Index at = 0;
    for_each_block(rows, [&](std::span<const Index> some) {
      encoder.load(some);
      for (Index i = 0; i < static_cast<Index>(some.size()); ++i)
        encoder.fill(group.effects, layout, i, &z(at++, 0));
    });
    out.push_back({std::move(grouping.group), std::move(z)});
  }
  return out;
}

namespace {

/// Whether all columns are there, each with at least one cell that is not missing.
bool has_all(const table::Table& table, const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    const table::Column* column = table.find(name);
    if (column == nullptr) return false;
    for (Index row = 0; row < table.rows; ++row)
      if (!column->missing(row)) return true;
    return false;
  });
}

}  // namespace

EncodedFormula encode(const FormulaSpec& spec, const table::Table& table, table::MissingPolicy missing) {
  std::vector<std::string> names = predictor_columns(spec);
  for (const GroupSpec& group : spec.groups) add_unique(names, group.columns);
  const std::vector<std::string> response = response_columns(spec.response);
  const bool with_response = has_all(table, response);
  const auto trials = with_response ? std::nullopt : trials_columns(spec.response);
  const bool with_trials = trials && has_all(table, *trials);
  if (with_response) add_unique(names, response);
  if (with_trials) add_unique(names, *trials);
  const bool with_weights = !spec.weights.empty() && has_all(table, {spec.weights});
  if (with_weights) add_unique(names, {spec.weights});
  EncodedFormula out;
  table::MissingCells cells;
  out.rows = cells.add(table, find_columns(table, names));
  cells.finalize(table.source, missing, out.notes);
  out.x = encode_design(spec, table, out.rows);
  out.offset = encode_offset(spec, table, out.rows);
  out.groups = encode_groups(spec, table, out.rows);
  if (with_response) encode_response(spec.response, table, out.rows, out);
  if (with_trials) out.trials = encode_trials(spec.response, table, out.rows);
  if (with_weights) out.weights = table::weight_values(table, *table.find(spec.weights), out.rows);
  return out;
}

std::vector<std::string> FormulaSpec::names(const ColumnSet& columns) const {
  const ColumnLayout layout(variables, columns);
  const std::vector<std::string> all = all_names(variables, columns);
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (layout.position[i] >= 0) kept.push_back(all[i]);
  return kept;
}

std::vector<std::string> FormulaSpec::names() const { return names(fixed); }

Index FormulaSpec::smooth_columns() const {
  Index columns = 0;
  for (const SmoothSpec& smooth : smooths) columns += smooth.columns();
  return columns;
}

std::map<std::string, table::ColumnKind> FormulaSpec::column_kinds() const {
  using table::ColumnKind;
  std::map<std::string, ColumnKind> kinds;
  for (const std::string& name : predictor_columns(*this)) kinds[name] = ColumnKind::number;
  for (const std::string& name : response_columns(response)) kinds[name] = ColumnKind::number;
  if (response.text) kinds[response.first.name] = ColumnKind::text;
  if (response.form == ResponseForm::survival && !response.classes.empty() &&
      response.second.kind == NodeKind::name &&
      std::isalpha(static_cast<unsigned char>(response.classes[0][0])) != 0)
    kinds[response.second.name] = ColumnKind::text;
  for (const Variable& variable : variables)
    if (const auto* factor = std::get_if<FactorVariable>(&variable.encoding))
      kinds[factor->column] = factor->text ? ColumnKind::text : ColumnKind::number;
  for (const GroupSpec& group : groups)
    for (std::size_t k = 0; k < group.columns.size(); ++k)
      kinds[group.columns[k]] = group.text[k] ? ColumnKind::text : ColumnKind::number;
  if (!weights.empty()) kinds[weights] = ColumnKind::number;
  return kinds;
}

}  // namespace magva::formula
