#pragma once
// Tables: read a CSV, TSV or LIBSVM file, choose its columns, and encode its rows as the design matrix,
// response and weights of a regression.
#include <Eigen/SparseCore>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "magva/types.hpp"

namespace magva::table {

using SparseRowMatrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;

/// A column of doubles that grows. Large blocks are moved by the operating system (realloc), not copied, and
/// memory beyond the last value is never touched: growing costs no peak, which a std::vector's would.
class Doubles {
 public:
  Index size() const { return size_; }
  double operator[](Index i) const { return data_.get()[i]; }
  double* data() { return data_.get(); }
  std::span<const double> span() const { return {data_.get(), static_cast<std::size_t>(size_)}; }
  Eigen::Map<const Vector> vector() const { return {data_.get(), size_}; }

  void reserve(Index capacity) {
    if (capacity > capacity_) reallocate(capacity);
  }
  /// Room for `count` more values at the end, which the caller fills.
  double* extend(Index count) {
    if (size_ + count > capacity_) reallocate(std::max(size_ + count, capacity_ + capacity_ / 2));
    double* added = data_.get() + size_;
    size_ += count;
    return added;
  }
  /// Keeps the memory.
  void clear() { size_ = 0; }
  void push_back(double value) { *extend(1) = value; }

 private:
  struct Free {
    void operator()(double* block) const { std::free(block); }
  };
  void reallocate(Index capacity) {
    void* moved = std::realloc(data_.get(), static_cast<std::size_t>(capacity) * sizeof(double));
    if (moved == nullptr) throw std::bad_alloc();
    static_cast<void>(data_.release());
    data_.reset(static_cast<double*>(moved));
    capacity_ = capacity;
  }
  std::unique_ptr<double[], Free> data_;
  Index size_ = 0;
  Index capacity_ = 0;
};

enum class ColumnKind { number, text };

struct Column {
  std::string name;
  ColumnKind kind = ColumnKind::number;
  Doubles values;  ///< of text: the level's number; NaN: a missing cell (readers let no other NaN in)
  std::vector<std::string> levels;  ///< of text: the different texts, in the order of their first appearance

  bool missing(Index row) const { return std::isnan(values[row]); }
  /// The text of a cell that is not missing; a number in its shortest form that reads back to the same
  /// number.
  std::string text(Index row) const;
};

/// The line on which each row starts; costs memory only if rows do not lie on consecutive lines.
class LineMap {
 public:
  /// Rows are added in their order.
  void add(Index row, std::int64_t line);
  std::int64_t line_of(Index row) const;

 private:
  std::vector<std::pair<Index, std::int64_t>> jumps_;
};

/// In a table of several files: the line, of all their lines, from which on lines are those of this file.
struct FileStart {
  std::int64_t line = 1;  ///< of the whole table
  std::string file;
  std::int64_t in_file = 1;  ///< the same line in the file itself
};

/// Data as a reader leaves them: named columns of numbers or of text, and the line of the file that each row
/// came from.
struct Table {
  std::string source;  ///< what messages call it
  std::vector<Column> columns;
  /// Of a LIBSVM file: feature i is column i - 1, named "xi"; `columns` then has one column, "label".
  std::optional<SparseRowMatrix> features;
  Index rows = 0;
  LineMap lines;
  std::vector<FileStart> files;  ///< of a table in several files: where the lines of each begin
  std::string sha256;            ///< of the file's bytes, if the reader was asked for it

  const Column* find(std::string_view name) const;
  std::vector<std::string> names() const;
  /// "data.csv, line 12" and "data.csv, line 12, column 'age'", with the name of the row's own file.
  std::string place_of(Index row) const;
  std::string place_of(Index row, std::string_view column) const;
};

enum class Format { automatic, csv, libsvm };

struct ReadOptions {
  Format format = Format::automatic;
  /// Of a CSV file; unset: a tab for *.tsv and *.tab, otherwise the one of , ; tab | that the header has most
  /// of.
  std::optional<char> separator;
  std::vector<std::string> text_columns;  ///< read as text whatever they hold; must exist
  std::map<std::string, ColumnKind>
      column_kinds;  ///< of columns that may exist; takes the place of the majority rule
  std::size_t max_line_bytes = std::size_t{64} << 20U;
  Index max_columns = 10'000'000;
  bool digest = false;  ///< fill Table::sha256

  /// Throws UsageError for invalid options.
  void validate() const;
};

/// Reads a CSV, TSV or LIBSVM file, plain or gzipped; "-" is standard input. Throws UsageError for invalid
/// options, IoError for a file that cannot be read and DataError for content that cannot be used.
Table read_table(const std::string& path, const ReadOptions& options = {});

inline constexpr const char* kIntercept = "(Intercept)";

enum class ResponseKind { binary, real, count };
enum class MissingPolicy { refuse, drop };
enum class Discretise { none, mdlp };

/// Which columns of a table become a design, and how.
struct DesignOptions {
  std::string response;  ///< the column; of a LIBSVM file it may stay empty: "label"
  ResponseKind kind = ResponseKind::binary;
  std::string
      positive_class;   ///< the class that is 1; empty: the larger number, or the last text in sorted order
  std::string weights;  ///< the column of observation weights, or nothing
  std::vector<std::string>
      columns;  ///< the predictors; empty: every column that is not response, weights or excluded
  std::vector<std::string> excluded;         ///< columns that are not predictors
  bool standardise = false;                  ///< columns of numbers to mean 0 and sd 1 (divisor n - 1)
  Discretise discretise = Discretise::none;  ///< of columns of numbers, by the classes of a binary response
  MissingPolicy missing = MissingPolicy::refuse;
  Index max_levels = 1000;  ///< of a text column: more are taken for a name or key by mistake

  /// Throws UsageError for invalid options.
  void validate() const;
};

struct ResponseSpec {
  std::string column;
  ResponseKind kind = ResponseKind::real;
  bool text = false;
  std::vector<std::string> classes;  ///< of a binary response: the texts that are 0 and 1
};

/// A column of numbers, as (x - mean) / sd; mean 0 and sd 1 leave it as it is.
struct NumberTerm {
  double mean = 0, sd = 1;
};

/// A text column: one indicator, named "column[level]", for each coded level. The baseline has none.
struct LevelsTerm {
  std::vector<std::string> levels;  ///< all that are known, sorted
  Index baseline = 0;
  std::vector<Index> coded;
};

/// A discretised column: one indicator, named "column_bink" with k from 1, for each coded bin, in this order.
struct BinsTerm {
  std::vector<double> cuts;
  Index baseline = 0;
  std::vector<Index> coded;
};

struct Term {
  std::string column;
  std::variant<NumberTerm, LevelsTerm, BinsTerm> encoding;

  std::vector<std::string> names() const;  ///< of the design's columns that it makes
};

/// The features of a LIBSVM file that are in the design, by index from 1, each divided by its scale. Not
/// centred: that would fill the zeros.
struct FeaturesTerm {
  Index count = 0;  ///< the largest index in the data of the fit
  std::vector<Index> kept;
  std::vector<double> scales;
};

struct DroppedColumn {
  std::string name;
  std::string reason;  ///< "constant", "equals 'x3'", ...
};

/// The encoding of a table as a design, learnt from the data of a fit: stored with the fit, it makes
/// prediction treat new data in exactly the same way.
struct DesignSpec {
  ResponseSpec response;
  std::string weights;  ///< the column, or nothing
  std::vector<Term> terms;
  std::optional<FeaturesTerm> features;
  std::vector<DroppedColumn> dropped;

  std::vector<std::string> names() const;  ///< of all coefficients, the intercept first
  bool sparse() const { return features.has_value(); }
  /// How to read new data, so that a column is text or numbers as it was in the data of the fit.
  std::map<std::string, ColumnKind> column_kinds() const;
};

/// The rows of a table as a regression needs them.
struct EncodedRows {
  RowMatrix x;                     ///< dense designs: the intercept first
  SparseRowMatrix sparse_x;        ///< designs of LIBSVM files, instead of x
  std::vector<std::string> names;  ///< of the columns
  Vector y;                        ///< empty if new data have no response
  Vector weights;                  ///< empty if there are none
  std::vector<Index> rows;         ///< the table's row that each row of the design comes from
  std::vector<std::string> notes;  ///< sentences for the user: what was encoded, dropped, and why

  Index size() const { return static_cast<Index>(rows.size()); }
};

struct LearntDesign {
  DesignSpec spec;
  EncodedRows design;
};

/// Learns the encoding from the table of a fit and applies it. Text columns become indicators against their
/// most frequent level (the first in sorted order of equally frequent ones), other levels sorted; bins
/// likewise (the lowest of equally frequent ones), in increasing order of their counts, lower bins first.
/// Constant columns, and columns of the design that equal an earlier one, are dropped and named in the notes.
/// Throws UsageError or DataError.
LearntDesign learn_design(const Table& table, const DesignOptions& options);

/// New data, encoded as `spec` says. Columns that it does not name are ignored. The response and weights are
/// read if they are there. Throws DataError for a missing column, a level that was never seen, a missing
/// value.
EncodedRows encode(const DesignSpec& spec, const Table& table, MissingPolicy missing = MissingPolicy::refuse);

}  // namespace magva::table
