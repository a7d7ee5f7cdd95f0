#include "table/encode_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "magva/error.hpp"
#include "magva/table.hpp"
#include "table/mdlp.hpp"
#include "table/message.hpp"
#include "table/response.hpp"

namespace magva::table {

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

namespace {
constexpr std::size_t kPlacesShown = 3;
}

std::vector<Index> MissingCells::add(const Table& part, const std::vector<const Column*>& used) {
  std::vector<bool> incomplete(static_cast<std::size_t>(part.rows), false);
  std::vector<std::pair<Index, const Column*>> places;
  for (const Column* column : used) {
    std::size_t in_column = 0;
    for (Index row = 0; row < part.rows; ++row) {
      if (!column->missing(row)) continue;
      incomplete[static_cast<std::size_t>(row)] = true;
      if (in_column++ < kPlacesShown) places.emplace_back(row, column);
    }
    cells_ += static_cast<Index>(in_column);
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [row, column] : places)
    if (places_.size() < kPlacesShown)
      places_.push_back(part.files.empty() ? fmt::format("line {}, column {}", part.lines.line_of(row),
                                                         excerpt(column->name))
                                           : part.place_of(row, column->name));
  std::vector<Index> complete;
  complete.reserve(static_cast<std::size_t>(part.rows));
  for (Index row = 0; row < part.rows; ++row)
    if (!incomplete[static_cast<std::size_t>(row)]) complete.push_back(row);
  rows_ += part.rows;
  incomplete_ += part.rows - static_cast<Index>(complete.size());
  return complete;
}

void MissingCells::fail(const std::string& source) const {
  std::string places;
  for (const std::string& place : places_) places += (places.empty() ? "" : "; ") + place;
  throw DataError(fmt::format(
      "{} has {} missing value{} in {} of {} rows ({}{}); fill them in, or leave these rows out with "
      "--missing drop",
      source, cells_, cells_ == 1 ? "" : "s", incomplete_, rows_, places,
      cells_ > static_cast<Index>(places_.size()) ? "; ..." : ""));
}

void MissingCells::finalize(const std::string& source, MissingPolicy policy,
                            std::vector<std::string>& notes) const {
  if (cells_ > 0 && policy == MissingPolicy::refuse) fail(source);
  if (incomplete_ == rows_) throw DataError(fmt::format("{}: every row has a missing value", source));
  if (incomplete_ > 0)
    notes.push_back(fmt::format("{} of {} rows were left out because of missing values", incomplete_, rows_));
}

Index count_complete_rows(const DesignSpec& spec, const Table& table) {
  MissingCells missing;
  missing.add(table, used_columns(table, spec).all());
  return missing.complete();
}

namespace {

constexpr Index kBlockRows =
    256;  // so many rows of the design stay in the cache while the terms fill their columns
constexpr Index kNoColumn = -1;
constexpr Index kUnseen = -1;

/// Fills a term's columns of the design for a range of its rows; they start out as zero.
class TermFiller {
 public:
  TermFiller(const Term& term, const Table& table, const Column& column, Index first)
      : term_(term), table_(table), column_(column), first_(first) {
    const bool needs_numbers = !std::holds_alternative<LevelsTerm>(term.encoding);
    if (needs_numbers && column.kind == ColumnKind::text)
      throw DataError(
          fmt::format("{}: column {} holds text such as {}, where the data of the fit hold numbers",
                      table.source, excerpt(column.name), excerpt(column.levels.front())));
    if (const auto* bins = std::get_if<BinsTerm>(&term.encoding))
      index_coded(bins->coded, bins->cuts.size() + 1);
    if (const auto* levels = std::get_if<LevelsTerm>(&term.encoding)) {
      index_coded(levels->coded, levels->levels.size());
      for (const std::string& level : column.levels)
        category_of_level_.push_back(category_of(*levels, level));
    }
  }

  void fill(RowMatrix& x, const std::vector<Index>& rows, Index begin, Index end) const {
    std::visit(
        [&](const auto& encoding) {
          for (Index i = begin; i < end; ++i) fill_row(encoding, x, i, rows[static_cast<std::size_t>(i)]);
        },
        term_.encoding);
  }

 private:
  void index_coded(const std::vector<Index>& coded, std::size_t categories) {
    column_of_.assign(categories, kNoColumn);
    for (std::size_t k = 0; k < coded.size(); ++k)
      column_of_[static_cast<std::size_t>(coded[k])] = first_ + static_cast<Index>(k);
  }

  void set_indicator(RowMatrix& x, Index i, Index category) const {
    const Index column = column_of_[static_cast<std::size_t>(category)];
    if (column != kNoColumn) x(i, column) = 1;
  }

  void fill_row(const NumberTerm& term, RowMatrix& x, Index i, Index row) const {
    const double value = (column_.values[row] - term.mean) / term.sd;
    if (!std::isfinite(value))
      throw DataError(
          fmt::format("{}: {} is too large to standardise", where(row), number_text(column_.values[row])));
    x(i, first_) = value;
  }

  void fill_row(const BinsTerm& term, RowMatrix& x, Index i, Index row) const {
    set_indicator(x, i, bin_of(column_.values[row], term.cuts));
  }

  void fill_row(const LevelsTerm& term, RowMatrix& x, Index i, Index row) const {
    const bool text = column_.kind == ColumnKind::text;
    const Index category = text ? category_of_level_[static_cast<std::size_t>(column_.values[row])]
                                : category_of(term, column_.text(row));
    if (category == kUnseen)
      throw DataError(
          fmt::format("{}: {} is not among the {} texts that the column has in the data of the fit ({})",
                      where(row), excerpt(column_.text(row)), term.levels.size(), name_list(term.levels)));
    set_indicator(x, i, category);
  }

  static Index category_of(const LevelsTerm& term, const std::string& level) {
    const auto found = std::lower_bound(term.levels.begin(), term.levels.end(), level);
    return found == term.levels.end() || *found != level ? kUnseen : found - term.levels.begin();
  }

  std::string where(Index row) const { return table_.place_of(row, column_.name); }

  const Term& term_;
  const Table& table_;
  const Column& column_;
  Index first_;
  std::vector<Index> column_of_;  ///< by category: the design's column, or none
  std::vector<Index>
      category_of_level_;  ///< by the table's number of a level: the term's category, or unseen
};

const Column& needed_column(const Table& table, const std::string& name) {
  const Column* column = table.find(name);
  if (column == nullptr)
    throw DataError(fmt::format("{} has no column '{}', which the fit needs{}", table.source, name,
                                suggestion(name, table.names())));
  return *column;
}

/// The response of new data, unless they have none or only missing cells.
const Column* response_column(const DesignSpec& spec, const Table& table) {
  const Column* column = table.find(spec.response.column);
  if (column == nullptr) return nullptr;
  for (Index row = 0; row < table.rows; ++row)
    if (!column->missing(row)) return column;
  return nullptr;
}

RowMatrix dense_design(const DesignSpec& spec, const Table& table, const std::vector<Index>& rows,
                       Index columns) {
  const auto n = static_cast<Index>(rows.size());
  RowMatrix x = RowMatrix::Zero(n, columns);
  x.col(0).setOnes();
  std::vector<TermFiller> fillers;
  Index first = 1;
  for (const Term& term : spec.terms) {
    fillers.emplace_back(term, table, needed_column(table, term.column), first);
    first += static_cast<Index>(term.names().size());
  }
  for (Index begin = 0; begin < n; begin += kBlockRows)
    for (const TermFiller& filler : fillers) filler.fill(x, rows, begin, std::min(n, begin + kBlockRows));
  return x;
}

SparseRowMatrix sparse_design(const FeaturesTerm& term, const SparseRowMatrix& features, Index columns) {
  SparseRowMatrix x(features.rows(), columns);
  const Index cells = features.nonZeros() + features.rows();
  if (cells > std::numeric_limits<int>::max())
    throw DataError("the design has more than 2^31 - 1 values, too many");
  x.reserve(cells);
  for (Index row = 0; row < features.rows(); ++row) {
    x.startVec(row);
    x.insertBack(row, 0) = 1;
    auto kept = term.kept.begin();
    for (SparseRowMatrix::InnerIterator cell(features, row); cell; ++cell) {
      kept = std::lower_bound(kept, term.kept.end(), cell.col() + 1);
      if (kept == term.kept.end()) break;
      if (*kept != cell.col() + 1) continue;
      const auto position = kept - term.kept.begin();
      x.insertBack(row, position + 1) = cell.value() / term.scales[static_cast<std::size_t>(position)];
    }
  }
  x.finalize();
  return x;
}

void check_layout(const DesignSpec& spec, const Table& table) {
  if (spec.sparse() && !table.features)
    throw DataError(fmt::format("{} is not a LIBSVM file, as the data of the fit are", table.source));
  if (!spec.sparse() && table.features)
    throw DataError(
        fmt::format("{} is a LIBSVM file, but the data of the fit are columns with names", table.source));
}

}  // namespace

EncodedRows encode_rows(const DesignSpec& spec, const Table& table, std::vector<Index> rows,
                        const Column* response, const Column* weights) {
  EncodedRows design;
  design.names = spec.names();
  design.rows = std::move(rows);
  const auto columns = static_cast<Index>(design.names.size());
  if (spec.sparse()) {
    design.sparse_x = sparse_design(*spec.features, *table.features, columns);
  } else {
    design.x = dense_design(spec, table, design.rows, columns);
  }
  if (response != nullptr) design.y = response_values(spec.response, table, *response, design.rows);
  if (weights != nullptr) design.weights = weight_values(table, *weights, design.rows);
  return design;
}

EncodedRows encode(const DesignSpec& spec, const Table& table, MissingPolicy missing) {
  check_layout(spec, table);
  std::vector<const Column*> used;
  for (const Term& term : spec.terms) used.push_back(&needed_column(table, term.column));
  const Column* response = response_column(spec, table);
  const Column* weights = spec.weights.empty() ? nullptr : table.find(spec.weights);
  if (response != nullptr) used.push_back(response);
  if (weights != nullptr) used.push_back(weights);
  std::vector<std::string> notes;
  MissingCells cells;
  std::vector<Index> rows = cells.add(table, used);
  cells.finalize(table.source, missing, notes);
  EncodedRows design = encode_rows(spec, table, std::move(rows), response, weights);
  if (weights != nullptr) check_weights_not_all_zero(table.source, weights->name, design.weights.maxCoeff());
  design.notes = std::move(notes);
  return design;
}

}  // namespace magva::table
