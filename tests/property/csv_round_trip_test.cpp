// Any table, written as CSV with random quoting, line ends and separators, reads back as the same table.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>

#include "table/message.hpp"
#include "table/read_table.hpp"

namespace magva::table {
namespace {

struct Written {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> rows;  ///< what the cells hold; "" for a missing one
  std::vector<bool> is_text;                   ///< by column
  char separator = ',';
  std::string csv;
};

rc::Gen<std::string> any_number() {
  return rc::gen::oneOf(
      rc::gen::map(rc::gen::arbitrary<int>(), [](int value) { return std::to_string(value); }),
      rc::gen::map(rc::gen::arbitrary<double>(), [](double value) { return number_text(value); }));
}

/// Text that a reader takes for text: starts with a letter that no number or missing mark starts with.
rc::Gen<std::string> any_text() {
  return rc::gen::map(rc::gen::container<std::string>(
                          rc::gen::element('a', 'Z', '1', ',', ';', '\t', '"', '\n', '\r', ' ', '\'')),
                      [](const std::string& tail) { return "q" + tail + "z"; });
}

bool needs_quotes(const std::string& field) {
  return field.find_first_of(",;\t|\"\r\n") != std::string::npos;
}

std::string quoted(const std::string& field) {
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

std::string field_text(const std::string& field) {
  const bool quote = needs_quotes(field) || *rc::gen::inRange(0, 4) == 0;
  return quote ? quoted(field) : field;
}

std::string record_text(const std::vector<std::string>& fields, char separator, const std::string& line_end) {
  std::string text;
  for (std::size_t j = 0; j < fields.size(); ++j) {
    if (j > 0) text += separator;
    text += field_text(fields[j]);
  }
  return text + line_end;
}

std::vector<std::string> any_row(const std::vector<bool>& is_text) {
  std::vector<std::string> row;
  for (const bool text : is_text) {
    const bool missing = *rc::gen::inRange(0, 6) == 0;
    row.push_back(missing ? "" : *(text ? any_text() : any_number()));
  }
  return row;
}

Written any_table() {
  Written table;
  const auto columns = *rc::gen::inRange<std::size_t>(1, 6);
  for (std::size_t j = 0; j < columns; ++j) {
    table.names.push_back(*any_text() + std::to_string(j));
    table.is_text.push_back(*rc::gen::arbitrary<bool>());
  }
  table.separator = *rc::gen::element(',', ';', '\t', '|');
  const std::string line_end = *rc::gen::element<std::string>("\n", "\r\n", "\r");
  table.csv = *rc::gen::element<std::string>("", "\xEF\xBB\xBF") +
              record_text(table.names, table.separator, line_end);
  const auto rows = *rc::gen::inRange(1, 12);
  for (int i = 0; i < rows; ++i) {
    table.rows.push_back(any_row(table.is_text));
    table.csv += record_text(table.rows.back(), table.separator, line_end);
  }
  return table;
}

ReadOptions options_for(const Written& table) {
  ReadOptions options;
  options.separator = table.separator;
  for (std::size_t j = 0; j < table.names.size(); ++j)
    options.column_kinds[table.names[j]] = table.is_text[j] ? ColumnKind::text : ColumnKind::number;
  return options;
}

RC_GTEST_PROP(CsvRoundTrip, AnyTableReadsBack, ()) {
  const Written table = any_table();
  MemorySource bytes(table.csv, *rc::gen::inRange<std::size_t>(1, 100));
  const Table read = read_table(bytes, "any.csv", options_for(table));
  RC_ASSERT(read.names() == table.names);
  RC_ASSERT(read.rows == static_cast<Index>(table.rows.size()));
  for (Index i = 0; i < read.rows; ++i) {
    for (std::size_t j = 0; j < table.names.size(); ++j) {
      const std::string& cell = table.rows[static_cast<std::size_t>(i)][j];
      const Column& column = read.columns[j];
      RC_ASSERT(column.missing(i) == cell.empty());
      if (cell.empty()) continue;
      if (table.is_text[j]) RC_ASSERT(column.text(i) == cell);
      if (!table.is_text[j]) RC_ASSERT(column.values[i] == std::strtod(cell.c_str(), nullptr));
    }
  }
}

}  // namespace
}  // namespace magva::table
