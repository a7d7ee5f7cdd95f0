#include "formula/row_encoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "table/message.hpp"

namespace magva::formula {

Index width(const Variable& variable, bool all_levels) {
  if (const auto* polynomial = std::get_if<PolynomialVariable>(&variable.encoding)) return polynomial->degree;
  if (const auto* factor = std::get_if<FactorVariable>(&variable.encoding))
    return static_cast<Index>(factor->levels.size()) - (all_levels ? 0 : 1);
  return 1;
}

namespace {

std::vector<std::string> variable_names(const Variable& variable, bool all_levels) {
  std::vector<std::string> names;
  if (const auto* polynomial = std::get_if<PolynomialVariable>(&variable.encoding)) {
    for (Index k = 1; k <= polynomial->degree; ++k) names.push_back(fmt::format("{}{}", variable.name, k));
  } else if (const auto* factor = std::get_if<FactorVariable>(&variable.encoding)) {
    for (Index level = 0; level < static_cast<Index>(factor->levels.size()); ++level)
      if (all_levels || level != factor->base)
        names.push_back(
            fmt::format("{}[{}]", variable.name, factor->levels[static_cast<std::size_t>(level)]));
  } else {
    names.push_back(variable.name);
  }
  return names;
}

Index term_width(const std::vector<Variable>& variables, const std::vector<CodedVariable>& term) {
  Index columns = 1;
  for (const CodedVariable& coded : term) columns *= width(variables[coded.variable], coded.all_levels);
  return columns;
}

}  // namespace

ColumnLayout::ColumnLayout(const std::vector<Variable>& variables, const ColumnSet& columns) {
  all = columns.intercept ? 1 : 0;
  for (const auto& term : columns.terms) {
    first.push_back(all);
    all += term_width(variables, term);
  }
  position.assign(static_cast<std::size_t>(all), 0);
  for (const Index column : columns.left_out)
    if (column < all) position[static_cast<std::size_t>(column)] = -1;
  for (Index& place : position)
    if (place == 0) place = kept++;
}

std::vector<std::string> all_names(const std::vector<Variable>& variables, const ColumnSet& columns) {
  std::vector<std::string> names;
  if (columns.intercept) names.emplace_back(table::kIntercept);
  for (const auto& term : columns.terms) {
    std::vector<std::string> products = {""};
    for (const CodedVariable& coded : term) {
      // The first variable varies fastest, as in R.
      std::vector<std::string> next;
      for (const std::string& name : variable_names(variables[coded.variable], coded.all_levels))
        for (const std::string& before : products)
          next.push_back(before.empty() ? name : before + ":" + name);
      products = std::move(next);
    }
    names.insert(names.end(), products.begin(), products.end());
  }
  return names;
}

RowEncoder::RowEncoder(const std::vector<Variable>& variables, const table::Table& table) : table_(&table) {
  for (const Variable& variable : variables) {
    Loaded loaded{&variable, nullptr, nullptr, nullptr, {}, {}};
    if (const auto* factor = std::get_if<FactorVariable>(&variable.encoding)) {
      loaded.column = table.find(factor->column);
      if (loaded.column == nullptr)
        throw DataError(fmt::format("{} has no column '{}', which the formula needs{}", table.source,
                                    factor->column, table::suggestion(factor->column, table.names())));
      loaded.levels = std::make_unique<LevelCoder>(factor->levels, *loaded.column);
      loaded.codes.resize(static_cast<std::size_t>(kBlockRows));
    } else {
      const auto* polynomial = std::get_if<PolynomialVariable>(&variable.encoding);
      loaded.numbers = std::make_unique<Arithmetic>(
          polynomial != nullptr ? polynomial->expression
                                : std::get<NumberVariable>(variable.encoding).expression,
          table);
      loaded.values.resize(width(variable, true), kBlockRows);
    }
    loaded_.push_back(std::move(loaded));
  }
}

void RowEncoder::load_factor(Loaded& loaded, std::span<const Index> rows) const {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    loaded.codes[i] = loaded.levels->code(rows[i]);
    if (loaded.codes[i] != LevelCoder::kUnseen) continue;
    const auto& levels = std::get<FactorVariable>(loaded.variable->encoding).levels;
    throw DataError(
        fmt::format("{}: {} is not among the {} levels that the column has in the data of the fit ({})",
                    table_->place_of(rows[i], loaded.column->name),
                    table::excerpt(loaded.column->text(rows[i])), levels.size(), table::name_list(levels)));
  }
}

void RowEncoder::load(std::span<const Index> rows) {
  for (Loaded& loaded : loaded_) {
    if (loaded.levels) {
      load_factor(loaded, rows);
      continue;
    }
    loaded.numbers->evaluate(rows, loaded.values.data());
    if (const auto* polynomial = std::get_if<PolynomialVariable>(&loaded.variable->encoding))
      fill_polynomial(*polynomial, static_cast<Index>(rows.size()), loaded.values);
  }
}

/// Multiplies the entries of a row's term by a variable; false if it is zero in all columns.
bool RowEncoder::multiply(const CodedVariable& coded, Index i, Index stride) {
  const Loaded& loaded = loaded_[coded.variable];
  if (loaded.levels) {
    Index code = loaded.codes[static_cast<std::size_t>(i)];
    const Index base = std::get<FactorVariable>(loaded.variable->encoding).base;
    if (!coded.all_levels) {
      if (code == base) return false;
      if (code > base) --code;
    }
    for (Entry& entry : entries_) entry.column += code * stride;
    return true;
  }
  const std::size_t before = entries_.size();
  for (Index k = loaded.values.rows() - 1; k >= 0; --k)
    for (std::size_t e = 0; e < before; ++e) {
      const Entry made{entries_[e].column + k * stride, entries_[e].value * loaded.values(k, i)};
      if (k > 0)
        entries_.push_back(made);
      else
        entries_[e] = made;
    }
  return true;
}

void RowEncoder::fill(const ColumnSet& columns, const ColumnLayout& layout, Index i, double* out) {
  if (columns.intercept) out[0] = 1;
  for (std::size_t t = 0; t < columns.terms.size(); ++t) {
    entries_.assign(1, Entry{layout.first[t], 1.0});
    Index stride = 1;
    bool zero = false;
    for (const CodedVariable& coded : columns.terms[t]) {
      zero = zero || !multiply(coded, i, stride);
      stride *= width(*loaded_[coded.variable].variable, coded.all_levels);
    }
    if (zero) continue;
    for (const Entry& entry : entries_)
      if (const Index place = layout.position[static_cast<std::size_t>(entry.column)]; place >= 0)
        out[place] = entry.value;
  }
}

void fill_polynomial(const PolynomialVariable& polynomial, Index count, RowMatrix& values) {
  for (Index i = 0; i < count; ++i) {
    const double x = values(0, i);
    double before = 0, current = 1;
    for (Index k = 0; k < polynomial.degree; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const double next = polynomial.raw
                              ? current * x
                              : (x - polynomial.alpha[at]) * current -
                                    (k == 0 ? 0 : polynomial.norm2[at + 1] / polynomial.norm2[at]) * before;
      before = current;
      current = next;
      values(k, i) = polynomial.raw ? current : current / std::sqrt(polynomial.norm2[at + 2]);
    }
  }
}

void learn_polynomial(PolynomialVariable& polynomial, const table::Table& table, std::span<const Index> rows,
                      const table::TableRanks& ranks) {
  if (polynomial.raw) return;
  const Arithmetic values(polynomial.expression, table);
  std::array<double, static_cast<std::size_t>(kBlockRows)> block;
  polynomial.norm2 = {1, static_cast<double>(ranks.row_starts(static_cast<Index>(rows.size())).back())};
  // Stieltjes' procedure: alpha_k = sum x P_k^2 / sum P_k^2, a pass over the rows for each degree and the
  // norm.
  for (Index k = 0; k <= polynomial.degree; ++k) {
    struct {
      long double weighted = 0, squares = 0;
    } sums;
    const auto add_block = [&](std::span<const Index> some) {
      values.evaluate(some, block.data());
      for (std::size_t i = 0; i < some.size(); ++i) {
        double before = 0, current = 1;
        for (std::size_t j = 0; j < static_cast<std::size_t>(k); ++j) {
          const double ratio = j == 0 ? 0 : polynomial.norm2[j + 1] / polynomial.norm2[j];
          const double next = (block[i] - polynomial.alpha[j]) * current - ratio * before;
          before = current;
          current = next;
        }
        sums.squares += static_cast<long double>(current) * current;
        sums.weighted += static_cast<long double>(block[i]) * current * current;
      }
    };
    ranks.in_turn(sums, [&] { for_each_block(rows, add_block); });
    if (k > 0) polynomial.norm2.push_back(static_cast<double>(sums.squares));
    if (k < polynomial.degree) polynomial.alpha.push_back(static_cast<double>(sums.weighted / sums.squares));
  }
}

}  // namespace magva::formula
