#include "table/csv_reader.hpp"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "magva/error.hpp"
#include "table/column_builder.hpp"
#include "table/message.hpp"

namespace magva::table {

FieldEnd FieldCursor::next_plain(std::string_view& content) {
  const char* at = position_;
  FieldEnd what{};
  const char* begin = position_;
  while (!step_over(at, what)) ++at;
  content = std::string_view(begin, static_cast<std::size_t>(at - begin));
  return what;
}

FieldEnd FieldCursor::next_quoted(std::string_view& content) {
  const char* begin = position_ + 1;
  unescaped_.clear();
  for (;;) {
    const char* quote = std::find(begin, end_, '"');
    if (quote == end_ || (quote + 1 == end_ && !last_))
      return last_ ? FieldEnd::open_quote : FieldEnd::starved;
    unescaped_.append(begin, quote);
    begin = quote + 1;
    if (begin == end_ || *begin != '"') break;
    unescaped_ += '"';
    ++begin;
  }
  FieldEnd what{};
  if (!step_over(begin, what)) return FieldEnd::after_quote;
  lines_ += std::count(unescaped_.begin(), unescaped_.end(), '\n');
  content = unescaped_;
  return what;
}

namespace {
/// One try: false if the window ends before the record does.
bool split_header(TextWindow& window, const std::string& source, char separator, Index max_columns,
                  CsvHeader& header) {
  header = {};
  FieldCursor cursor(window.begin(), window.end(), window.last(), separator);
  FieldEnd after = FieldEnd::separator;
  while (after == FieldEnd::separator) {
    std::string_view content;
    after = cursor.next(content);
    if (after == FieldEnd::starved) return false;
    if (after == FieldEnd::open_quote)
      throw DataError(fmt::format("{}: a quote in the header is never closed", place(source, 1)));
    if (after == FieldEnd::after_quote)
      throw DataError(fmt::format("{}: text follows the closing quote of column name {}", place(source, 1),
                                  header.names.size() + 1));
    header.names.emplace_back(trim(content));
    if (static_cast<Index>(header.names.size()) > max_columns)
      throw DataError(fmt::format("{} has more than {} columns", source, max_columns));
  }
  header.lines = cursor.lines();
  window.consume_to(cursor.position());
  return true;
}

void check_column_names(const std::vector<std::string>& names, const std::string& source) {
  const bool all_numbers = std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return read_cell(name).kind == CellKind::number;
  });
  if (all_numbers)
    throw DataError(
        fmt::format("{}: numbers where the column names belong; add a header line", place(source, 1)));
  std::unordered_map<std::string_view, std::size_t> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty())
      throw DataError(
          fmt::format("{}: column {} has no name; name it, or remove it if it only numbers the rows",
                      place(source, 1), i + 1));
    if (!is_utf8(names[i]))
      throw DataError(fmt::format("{}: the name of column {}, {}, is not UTF-8; save the file as UTF-8",
                                  place(source, 1), i + 1, excerpt(names[i])));
    const auto [first, is_new] = seen.emplace(names[i], i);
    if (!is_new)
      throw DataError(fmt::format("{}: columns {} and {} are both named {}; rename one", place(source, 1),
                                  first->second + 1, i + 1, excerpt(names[i])));
  }
}
}  // namespace

CsvHeader read_csv_header(TextWindow& window, const std::string& source_name, char separator,
                          const ReadOptions& options) {
  if (window.empty()) throw DataError(fmt::format("{} is empty", source_name));
  CsvHeader header;
  while (!split_header(window, source_name, separator, options.max_columns, header)) window.more(1);
  check_column_names(header.names, source_name);
  return header;
}

namespace {

// Rows are gathered in a block of about this many values, small enough for a processor's cache, before they
// are spread over the columns: one cell at a time, every cell would cost a cache miss.
constexpr Index kBlockValues = Index{1} << 16U;
constexpr Index kParsedRows = 4096;

// What a column is should not hang on one row: where rows are so long that the window holds few, it is
// widened.
constexpr Index kSampledRows = 8;
constexpr std::ptrdiff_t kSampledBytes = std::ptrdiff_t{16} << 20U;

}  // namespace

class CsvParts::Reader {
 public:
  Reader(TextWindow& window, std::string source, char separator, const ReadOptions& options)
      : window_(window), source_(std::move(source)), separator_(separator) {
    const CsvHeader header = read_csv_header(window_, source_, separator_, options);
    line_ = 1 + header.lines;
    make_builders(header.names, options);
    sample_limit_ = std::min(kSampledBytes, static_cast<std::ptrdiff_t>(options.max_line_bytes / 2));
  }

  void reserve_for(std::uint64_t source_bytes) {
    decide_kinds();
    if (sampled_rows_ == 0) return;
    const double per_row = static_cast<double>(sampled_bytes_) / static_cast<double>(sampled_rows_);
    const double rows = 1.02 * static_cast<double>(source_bytes) / std::max(per_row, 1.0) + 16;
    for (ColumnBuilder& builder : builders_) builder.values().reserve(static_cast<Index>(rows));
  }

  bool next(Table& part, Index most_rows) {
    decide_kinds();
    make_block(most_rows);
    part.rows = 0;
    part.lines = {};
    while (part.rows + block_filled_ < most_rows && !(window_.empty() && window_.last())) {
      const FieldEnd end = window_.empty() ? FieldEnd::starved : read_row(part);
      if (end == FieldEnd::starved) window_.more(line_);
    }
    flush(part);
    hand_over(part);
    return part.rows > 0;
  }

  Index columns() const { return static_cast<Index>(builders_.size()); }

  std::map<std::string, ColumnKind> kinds() {
    decide_kinds();
    std::map<std::string, ColumnKind> known;
    for (const ColumnBuilder& builder : builders_)
      if (builder.kind()) known.emplace(builder.name(), *builder.kind());
    return known;
  }

  void check_has_rows() const {
    if (rows_ == 0) throw DataError(fmt::format("{} has a header but no rows", source_));
  }

 private:
  void make_builders(const std::vector<std::string>& names, const ReadOptions& options) {
    builders_.reserve(names.size());
    for (const std::string& name : names) {
      const auto known = options.column_kinds.find(name);
      builders_.emplace_back(
          name, known == options.column_kinds.end() ? std::nullopt : std::optional(known->second));
    }
    for (const std::string& name : options.text_columns) {
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end())
        throw DataError(
            fmt::format("{} has no column '{}' to read as text{}", source_, name, suggestion(name, names)));
      builders_[static_cast<std::size_t>(found - names.begin())].decide(ColumnKind::text);
    }
  }

  bool is_blank_line(const char* at) const {
    return columns() > 1 && at != window_.end() && (*at == '\n' || *at == '\r');
  }

  void decide_kinds() {
    if (decided_) return;
    decided_ = true;
    std::vector<CellCounts> counts = count_cells();
    while (sampled_rows_ < kSampledRows && !window_.last() &&
           window_.end() - window_.begin() < sample_limit_) {
      window_.more(line_);
      counts = count_cells();
    }
    for (std::size_t i = 0; i < counts.size(); ++i) decide_kind(builders_[i], counts[i]);
  }

  /// Looks through the records that the window holds, without consuming them.
  std::vector<CellCounts> count_cells() {
    std::vector<CellCounts> counts(builders_.size());
    FieldCursor cursor(window_.begin(), window_.end(), window_.last(), separator_);
    sampled_rows_ = 0;
    Index column = 0;
    while (cursor.position() != cursor.end()) {
      const bool blank = column == 0 && is_blank_line(cursor.position());
      std::string_view content;
      const FieldEnd end = cursor.next(content);
      // Faults are for read_row to report, with their line.
      if (end != FieldEnd::separator && end != FieldEnd::record) break;
      if (!blank && column < columns()) counts[static_cast<std::size_t>(column)].add(content);
      column = end == FieldEnd::record ? 0 : column + 1;
      if (end == FieldEnd::record && !blank) ++sampled_rows_;
    }
    sampled_bytes_ = cursor.position() - window_.begin();
    return counts;
  }

  void decide_kind(ColumnBuilder& builder, const CellCounts& counts) const {
    if (builder.kind() || !counts.majority()) return;
    const bool commas = separator_ != ',' && counts.decimal_commas > 0 &&
                        2 * (counts.decimal_commas + counts.numbers) > counts.numbers + counts.texts;
    if (commas)
      throw DataError(
          fmt::format("{}, column {}: numbers are written with a decimal comma; write them with a point",
                      source_, excerpt(builder.name())));
    builder.decide(*counts.majority());
  }

  void make_block(Index most_rows) {
    if (!block_.empty()) return;
    const Index needed =
        std::min(most_rows, window_.last() ? std::max<Index>(sampled_rows_, 1) : kParsedRows);
    block_rows_ = std::clamp<Index>(kBlockValues / columns(), 1, needed);
    block_.resize(static_cast<std::size_t>(block_rows_ * columns()));
  }

  /// Reads one record into the block, or nothing if the window ends before the record does.
  FieldEnd read_row(Table& part) {
    FieldCursor cursor(window_.begin(), window_.end(), window_.last(), separator_);
    if (is_blank_line(window_.begin())) return skip_blank_line(cursor);
    double* row = block_.data() + block_filled_ * columns();
    Index column = 0;
    FieldEnd end = FieldEnd::separator;
    for (; end == FieldEnd::separator && column < columns(); ++column)
      end = read_field(cursor, column, row[column]);
    if (end == FieldEnd::starved) return end;
    if (end != FieldEnd::record || column != columns()) return report_ragged(cursor, end, column);
    part.lines.add(part.rows + block_filled_, line_);
    ++rows_;
    line_ += cursor.lines();
    window_.consume_to(cursor.position());
    if (++block_filled_ == block_rows_) flush(part);
    return end;
  }

  FieldEnd skip_blank_line(FieldCursor& cursor) {
    std::string_view content;
    const FieldEnd end = cursor.next(content);
    if (end == FieldEnd::starved) return end;
    line_ += cursor.lines();
    window_.consume_to(cursor.position());
    return end;
  }

  FieldEnd read_field(FieldCursor& cursor, Index column, double& value) {
    ColumnBuilder& builder = builders_[static_cast<std::size_t>(column)];
    FieldEnd end{};
    if (builder.reads_numbers()) {
      // Nearly every cell of a large file is a plain number: parse it where it stands.
      const auto parsed = fast_float::from_chars(cursor.position(), cursor.end(), value);
      if (parsed.ec == std::errc() && std::isfinite(value) && cursor.step_over(parsed.ptr, end)) return end;
    }
    std::string_view content;
    end = cursor.next(content);
    if (end == FieldEnd::after_quote)
      throw DataError(fmt::format("{}: text follows the closing quote; write a quote inside quotes twice",
                                  where(builder)));
    if (end == FieldEnd::open_quote)
      throw DataError(fmt::format("{}: the quote is never closed", where(builder)));
    if (end != FieldEnd::starved) value = builder.value_of(content, [&] { return where(builder); });
    return end;
  }

  std::string where(const ColumnBuilder& builder) const {
    return place(source_, window_.files(), line_, builder.name());
  }

  /// Counts the fields of a record that has too few or too many, for the message.
  FieldEnd report_ragged(FieldCursor& cursor, FieldEnd end, Index fields) const {
    while (end == FieldEnd::separator) {
      std::string_view content;
      end = cursor.next(content);
      ++fields;
    }
    if (end == FieldEnd::starved) return end;
    throw DataError(fmt::format("{}: {} field{} where the header has {}",
                                place(source_, window_.files(), line_), fields, fields == 1 ? "" : "s",
                                columns()));
  }

  void flush(Table& part) {
    for (Index column = 0; column < columns(); ++column) {
      double* added = builders_[static_cast<std::size_t>(column)].values().extend(block_filled_);
      const double* cell = block_.data() + column;
      for (Index row = 0; row < block_filled_; ++row, cell += columns()) added[row] = *cell;
    }
    part.rows += block_filled_;
    block_filled_ = 0;
  }

  void hand_over(Table& part) {
    part.source = source_;
    part.files = window_.files();
    part.columns.resize(builders_.size());
    for (std::size_t i = 0; i < builders_.size(); ++i) builders_[i].hand_over(part.columns[i]);
  }

  TextWindow& window_;
  std::string source_;
  char separator_;
  std::vector<ColumnBuilder> builders_;
  std::vector<double> block_;
  Index block_rows_ = 0, block_filled_ = 0;
  Index rows_ = 0, sampled_rows_ = 0;
  std::ptrdiff_t sampled_bytes_ = 0, sample_limit_ = 0;
  std::int64_t line_ = 1;
  bool decided_ = false;
};

CsvParts::CsvParts(TextWindow& window, const std::string& source_name, char separator,
                   const ReadOptions& options)
    : reader_(std::make_unique<Reader>(window, source_name, separator, options)) {}
CsvParts::~CsvParts() = default;

Index CsvParts::columns() const { return reader_->columns(); }
bool CsvParts::next(Table& part, Index most_rows) { return reader_->next(part, most_rows); }
std::map<std::string, ColumnKind> CsvParts::kinds() { return reader_->kinds(); }
void CsvParts::check_has_rows() const { reader_->check_has_rows(); }

Table read_csv(TextWindow& window, const std::string& source_name, char separator, const ReadOptions& options,
               std::optional<std::uint64_t> source_bytes) {
  CsvParts::Reader reader(window, source_name, separator, options);
  if (source_bytes) reader.reserve_for(*source_bytes);
  Table table;
  reader.next(table, std::numeric_limits<Index>::max());
  reader.check_has_rows();
  return table;
}

}  // namespace magva::table
