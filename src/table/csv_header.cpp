#include "table/csv_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "magva/error.hpp"
#include "table/cell.hpp"
#include "table/field_cursor.hpp"
#include "table/message.hpp"
#include "table/utf8.hpp"

namespace magva::input {

namespace {
/// One try: false where the window ends before the record does.
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

void refuse_unusable(const std::vector<std::string>& names, const std::string& source) {
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
  refuse_unusable(header.names, source_name);
  return header;
}

}  // namespace magva::input
