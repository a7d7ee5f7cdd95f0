#include <gtest/gtest.h>

#include "magva/error.hpp"
#include "table/csv_reader.hpp"
#include "unit/table/support.hpp"

namespace magva::table {
namespace {

using test::sentence;
using test::table_of;

std::string csv_fault(std::string_view text, const ReadOptions& options = {}) {
  return sentence<DataError>([&] { table_of(text, options); });
}

TEST(CsvReader, ReadsNumbersTextAndMissingCells) {
  const Table table = table_of("a,colour,b\n1,red,-2.5e3\n+2,blue,NA\n .5 ,red,\n");
  ASSERT_EQ(table.rows, 3);
  ASSERT_EQ(table.names(), (std::vector<std::string>{"a", "colour", "b"}));
  EXPECT_EQ(table.columns[0].values[1], 2);
  EXPECT_EQ(table.columns[0].values[2], .5);
  EXPECT_EQ(table.columns[1].kind, ColumnKind::text);
  EXPECT_EQ(table.columns[1].text(0), "red");
  EXPECT_EQ(table.columns[1].text(1), "blue");
  EXPECT_EQ(table.columns[1].text(2), "red");
  EXPECT_EQ(table.columns[1].levels.size(), 2U);
  EXPECT_EQ(table.columns[2].values[0], -2500);
  EXPECT_TRUE(table.columns[2].missing(1));
  EXPECT_TRUE(table.columns[2].missing(2));
}

TEST(CsvReader, ReadsQuotesLineEndsAndByteOrderMark) {
  const Table table =
      table_of("\xEF\xBB\xBF\"x, y\",\"t\"\"q\"\r\n\"1.5\",\"a,\"\"b\"\"\r\nc\"\r\n2,d\r\n\n3,d");
  ASSERT_EQ(table.names(), (std::vector<std::string>{"x, y", "t\"q"}));
  ASSERT_EQ(table.rows, 3);
  EXPECT_EQ(table.columns[0].values[0], 1.5);
  EXPECT_EQ(table.columns[1].text(0), "a,\"b\"\r\nc");
  EXPECT_EQ(table.lines.line_of(0), 2);
  EXPECT_EQ(table.lines.line_of(1), 4);
  EXPECT_EQ(table.lines.line_of(2), 6);
}

TEST(CsvReader, GivesTheSameTableWhateverThePieces) {
  const std::string text = "a,b\r\n1,\"x\r\ny\"\r\n\r\n2.25,z\r3,\"\"\"\"\n";
  const Table whole = table_of(text);
  for (const std::size_t piece : {1U, 2U, 3U, 7U}) {
    MemorySource bytes(text, piece);
    const Table pieces = read_table(bytes, "data.csv");
    ASSERT_EQ(pieces.rows, whole.rows);
    for (Index row = 0; row < whole.rows; ++row)
      for (std::size_t j = 0; j < 2; ++j) EXPECT_EQ(pieces.columns[j].text(row), whole.columns[j].text(row));
  }
}

TEST(CsvReader, ReadsRecordsAcrossTheEdgesOfItsWindow) {
  std::string text = "a,b,c\n";
  const int rows = 200'000;  // some four windows
  for (int i = 0; i < rows; ++i)
    text += std::to_string(i) + ".25,\"t" + std::to_string(i % 3) + "\"," + std::to_string(-i) + "\r\n";
  ASSERT_GT(text.size(), 3 * TextWindow::kInitialBytes);
  const Table table = table_of(text);
  ASSERT_EQ(table.rows, rows);
  for (int i = 0; i < rows; ++i) {
    ASSERT_EQ(table.columns[0].values[i], i + .25);
    ASSERT_EQ(table.columns[1].values[i], i % 3);
    ASSERT_EQ(table.columns[2].values[i], -i);
  }
  EXPECT_EQ(table.lines.line_of(rows - 1), rows + 1);
}

TEST(CsvReader, FindsTheSeparator) {
  EXPECT_EQ(table_of("a;b\n1;2\n").columns.size(), 2U);
  EXPECT_EQ(table_of("a\tb\n1\t2\n").columns.size(), 2U);
  EXPECT_EQ(table_of("a|b\n1|2\n").columns.size(), 2U);
  EXPECT_EQ(table_of("\"a;b;c\",d\n1,2\n").columns.size(), 2U);
  EXPECT_EQ(table_of("a,b\tc\n1\t3\n", {}, "data.tsv").names()[0], "a,b");
  EXPECT_EQ(table_of("x\n1\n2\n").columns.size(), 1U);
  ReadOptions colon;
  colon.separator = ':';
  EXPECT_EQ(table_of("a:b\n1:2\n", colon).columns.size(), 2U);
  colon.separator = '"';
  EXPECT_THROW(table_of("a:b\n1:2\n", colon), UsageError);
}

TEST(CsvReader, KeepsBlankLinesOfASingleColumnAsMissing) {
  const Table table = table_of("x\n1\n\n3\n");
  ASSERT_EQ(table.rows, 3);
  EXPECT_TRUE(table.columns[0].missing(1));
}

TEST(CsvReader, KnowsTheDocumentedMissingMarks) {
  for (const char* mark :
       {"", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "NULL", "null", "None", "?", ".", " NA "}) {
    const Table table = table_of(std::string("a,b\n1,2\n2,") + mark + "\n");
    EXPECT_TRUE(table.columns[1].missing(1)) << mark;
  }
}

TEST(CsvReader, DecidesByTheMajorityWhatAColumnIs) {
  EXPECT_EQ(table_of("a\nx\n1\n").columns[0].kind, ColumnKind::text);
  EXPECT_EQ(csv_fault("a,b\n1,5\n2,x\n3,5\n"),
            "data.csv, line 3, column 'b': 'x' is not a number, as the column's other cells are; correct it, "
            "or read the column as text (--text b)");
  ReadOptions as_text;
  as_text.text_columns = {"b"};
  EXPECT_EQ(table_of("a,b\n1,05\n2,x\n3,5\n", as_text).columns[1].text(0), "05");
  as_text.text_columns = {"B"};
  EXPECT_EQ(csv_fault("a,b\n1,05\n", as_text),
            "data.csv has no column 'B' to read as text (did you mean 'b'?)");
  ReadOptions numbers;
  numbers.column_kinds = {{"a", ColumnKind::number}, {"absent", ColumnKind::text}};
  EXPECT_NE(csv_fault("a\nx\n1\n", numbers).find("line 2, column 'a': 'x' is not a number"),
            std::string::npos);
}

TEST(CsvReader, DecidesByTheFirstCellWhereTheSampleHasNone) {
  std::string text = "a,b,c\n";
  while (text.size() < 2 * TextWindow::kInitialBytes) text += "1,,\n";
  text += "1,red,7\n";
  const Table table = table_of(text);
  EXPECT_EQ(table.columns[1].text(table.rows - 1), "red");
  EXPECT_EQ(table.columns[2].values[table.rows - 1], 7);
}

TEST(CsvReader, NamesFaultsWithTheirPlace) {
  EXPECT_EQ(csv_fault(""), "data.csv is empty");
  EXPECT_EQ(csv_fault("a,b\n"), "data.csv has a header but no rows");
  EXPECT_EQ(csv_fault("a,b"), "data.csv has a header but no rows");
  EXPECT_EQ(csv_fault("a,b\n1,2\n3\n"), "data.csv, line 3: 1 field where the header has 2");
  EXPECT_EQ(csv_fault("a,b\n1,2,3,4\n"), "data.csv, line 2: 4 fields where the header has 2");
  EXPECT_EQ(csv_fault("a,b\n1,2,\"3\n\",x\n"), "data.csv, line 2: 4 fields where the header has 2");
  EXPECT_EQ(csv_fault("a,b,a\n1,2,3\n"), "data.csv, line 1: columns 1 and 3 are both named 'a'; rename one");
  EXPECT_EQ(csv_fault(",b\n1,2\n"),
            "data.csv, line 1: column 1 has no name; name it, or remove it if it only numbers the rows");
  EXPECT_EQ(csv_fault("1,2\n3,4\n"),
            "data.csv, line 1: numbers where the column names belong; add a header line");
  EXPECT_EQ(csv_fault("a\n\"x\n"), "data.csv, line 2, column 'a': the quote is never closed");
  EXPECT_EQ(csv_fault("\"a\n1\n"), "data.csv, line 1: a quote in the header is never closed");
  EXPECT_EQ(
      csv_fault("a,b\n\"x\"y,1\n"),
      "data.csv, line 2, column 'a': text follows the closing quote; write a quote inside quotes twice");
  EXPECT_EQ(csv_fault("a;b\n1,5;2\n2,5;3\n"),
            "data.csv, column 'a': numbers are written with a decimal comma; write them with a point");
  EXPECT_EQ(csv_fault(std::string_view("a,b\n1,\0002\n", 9)), "data.csv is not a text file: byte 7 is NUL");
  EXPECT_EQ(csv_fault("\xFF\xFE"
                      "a,b\n"),
            "data.csv is written in UTF-16; save it as UTF-8");
  EXPECT_EQ(csv_fault("a,b\n1,caf\xE9\n"),
            "data.csv, line 2, column 'b': 'caf?' is not UTF-8; save the file as UTF-8");
  EXPECT_EQ(csv_fault("a\xE9,b\n1,2\n"),
            "data.csv, line 1: the name of column 1, 'a?', is not UTF-8; save the file as UTF-8");
}

TEST(CsvReader, RefusesNumbersThatAreNotFinite) {
  for (const char* cell : {"Inf", "-inf", "Infinity", "1e999", "-NaN"}) {
    const std::string said = csv_fault(std::string("a,b\n1,2\n3,") + cell + "\n4,5\n");
    EXPECT_EQ(said.find(std::string("data.csv, line 3, column 'b': '") + cell + "' is not a finite number"),
              0U)
        << said;
  }
}

TEST(CsvReader, RefusesALineThatIsTooLongWithoutReadingItWhole) {
  // A source without end: if the reader did not stop at its limit, the test would not end.
  class Endless final : public ByteSource {
   public:
    std::size_t read(char* buffer, std::size_t size) override {
      std::fill_n(buffer, size, given_ == 0 ? 'a' : '7');
      given_ += size;
      return size;
    }
    std::size_t given_ = 0;
  };
  Endless endless;
  const std::string said = sentence<DataError>([&] { read_table(endless, "long.csv"); });
  EXPECT_EQ(said,
            "long.csv, line 1: longer than 67108864 bytes, which no record may be; is a line end or closing "
            "quote missing?");
  EXPECT_LE(endless.given_, ReadOptions{}.max_line_bytes + TextWindow::kInitialBytes);
}

TEST(CsvReader, SaysOfLongOrOddContentOnlyTheBeginning) {
  const std::string said = csv_fault("a,b\n1,5\n2,\"" + std::string(100, 'x') + "\n\"\n3,5\n");
  EXPECT_NE(said.find("'" + std::string(40, 'x') + "...'"), std::string::npos);
}

}  // namespace
}  // namespace magva::table
