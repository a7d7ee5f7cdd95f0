#pragma once
// Takes one record apart, field by field (RFC 4180; a lone CR ends a line too; quotes inside an unquoted
// field are literal).
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "magva/table.hpp"
#include "table/byte_source.hpp"

namespace magva::table {

/// What came after the field that was read last.
enum class FieldEnd {
  separator,
  record,       ///< a line end or the end of the text
  starved,      ///< the window's end: read more and start the record again
  after_quote,  ///< a character that may not follow a closing quote
  open_quote    ///< the text ended inside quotes
};

class FieldCursor {
 public:
  /// `last`: no text follows `end`.
  FieldCursor(const char* begin, const char* end, bool last, char separator)
      : position_(begin), end_(end), last_(last), separator_(separator) {}

  const char* position() const { return position_; }
  const char* end() const { return end_; }
  std::int64_t lines() const { return lines_; }  ///< line ends passed, those within quotes included

  /// The next field's content, good until the next call.
  FieldEnd next(std::string_view& content) {
    return position_ != end_ && *position_ == '"' ? next_quoted(content) : next_plain(content);
  }
  /// Steps over a field that ends at `field_end`, if one does: for callers that found the end themselves.
  bool step_over(const char* field_end, FieldEnd& what) {
    if (field_end == end_) {
      what = end_of_text();
      return true;
    }
    if (*field_end == separator_) {
      position_ = field_end + 1;
      what = FieldEnd::separator;
      return true;
    }
    if (*field_end != '\n' && *field_end != '\r') return false;
    what = line_end(field_end);
    return true;
  }

 private:
  FieldEnd end_of_text() {
    if (!last_) return FieldEnd::starved;
    position_ = end_;
    ++lines_;
    return FieldEnd::record;
  }
  FieldEnd line_end(const char* at) {
    if (*at == '\r' && at + 1 == end_ && !last_) return FieldEnd::starved;
    const bool pair = *at == '\r' && at + 1 != end_ && at[1] == '\n';
    position_ = at + (pair ? 2 : 1);
    ++lines_;
    return FieldEnd::record;
  }
  FieldEnd next_plain(std::string_view& content);
  FieldEnd next_quoted(std::string_view& content);

  const char* position_;
  const char* end_;
  bool last_;
  char separator_;
  std::int64_t lines_ = 0;
  std::string unescaped_;
};

struct CsvHeader {
  std::vector<std::string> names;
  std::int64_t lines = 0;  ///< that it takes in the file
};

/// Reads the first record as column names and checks that they can be used: each there, none twice, not all
/// numbers.
CsvHeader read_csv_header(TextWindow& window, const std::string& source_name, char separator,
                          const ReadOptions& options);

/// Separated values with a header line, some rows at a time.
class CsvParts {
 public:
  CsvParts(TextWindow& window, const std::string& source_name, char separator, const ReadOptions& options);
  ~CsvParts();
  CsvParts(const CsvParts&) = delete;
  CsvParts& operator=(const CsvParts&) = delete;

  /// The next rows, at most so many, in place of those that `part` had: use the same table for every call.
  /// Its text columns know the levels of all parts so far. False if there are no more.
  bool next(Table& part, Index most_rows);
  Index columns() const;
  /// What the columns are that the first rows decide.
  std::map<std::string, ColumnKind> kinds();
  /// DataError if there was none up to the end.
  void check_has_rows() const;

 private:
  friend Table read_csv(TextWindow&, const std::string&, char, const ReadOptions&,
                        std::optional<std::uint64_t>);
  class Reader;
  std::unique_ptr<Reader> reader_;
};

/// Reads separated values with a header line. What a column is, is decided by its cells in the first mebibyte
/// (see CellCounts); a column with none there, by its first cell that is not missing. Blank lines are
/// skipped, except in a table of one column, where they are missing cells. The lines in messages are those on
/// which a record starts.
Table read_csv(TextWindow& window, const std::string& source_name, char separator, const ReadOptions& options,
               std::optional<std::uint64_t> source_bytes = std::nullopt);

}  // namespace magva::table
