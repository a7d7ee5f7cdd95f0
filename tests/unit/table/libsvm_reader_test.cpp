#include "table/libsvm_reader.hpp"

#include <gtest/gtest.h>

#include "magva/error.hpp"
#include "unit/table/support.hpp"

namespace magva::table {
namespace {

using test::table_of;

std::string libsvm_fault(std::string_view text) {
  return test::sentence<DataError>([&] { table_of(text, {}, "d.svm"); });
}

TEST(LibsvmReader, ReadsLabelsAndFeatures) {
  const Table table =
      table_of("# made by hand\n+1 1:0.5 3:-2 # first\r\n\n-1\n+1 2:1e-3\t4:0\n", {}, "d.libsvm");
  ASSERT_EQ(table.rows, 3);
  ASSERT_TRUE(table.features);
  EXPECT_EQ(table.features->cols(), 4);
  EXPECT_EQ(table.features->nonZeros(), 3);
  EXPECT_EQ(table.features->coeff(0, 0), .5);
  EXPECT_EQ(table.features->coeff(0, 2), -2);
  EXPECT_EQ(table.features->coeff(2, 1), 1e-3);
  EXPECT_EQ(table.columns[0].name, "label");
  EXPECT_EQ(table.columns[0].values[1], -1);
  EXPECT_EQ(table.lines.line_of(0), 2);
  EXPECT_EQ(table.lines.line_of(1), 4);
}

TEST(LibsvmReader, IsRecognisedWithoutAnExtension) {
  EXPECT_TRUE(table_of("1 1:2 5:3\n0 2:1\n", {}, "leu").features);
  EXPECT_FALSE(table_of("a,b\n1,2\n", {}, "leu").features);
  EXPECT_FALSE(table_of("time\n10:30\n", {}, "-").features);
}

TEST(LibsvmReader, ReadsAcrossTheEdgesOfItsWindow) {
  std::string text;
  const int rows = 150'000;
  for (int i = 0; i < rows; ++i) text += std::to_string(i % 2) + " 1:" + std::to_string(i) + " 7:0.5\n";
  ASSERT_GT(text.size(), 2 * TextWindow::kInitialBytes);
  MemorySource bytes(text, 65'537);
  const Table table = read_table(bytes, "d.svm");
  ASSERT_EQ(table.rows, rows);
  for (int i = 1; i < rows; ++i) ASSERT_EQ(table.features->coeff(i, 0), i);
}

TEST(LibsvmReader, NamesFaultsWithTheirLine) {
  EXPECT_EQ(libsvm_fault(""), "d.svm is empty");
  EXPECT_EQ(libsvm_fault("# nothing\n"), "d.svm has no rows");
  EXPECT_EQ(libsvm_fault("1 1:2\nx 1:2\n"), "d.svm, line 2: the label, 'x', is not a finite number");
  EXPECT_EQ(libsvm_fault("1 0:2\n"), "d.svm, line 1: index 0 where indices count from 1");
  EXPECT_EQ(libsvm_fault("1 2:2 2:3\n"), "d.svm, line 1: index 2 after 2; indices must increase");
  EXPECT_EQ(libsvm_fault("1 2\n"), "d.svm, line 1: '2' where index:value is needed");
  EXPECT_EQ(libsvm_fault("1 qid:3 1:2\n"), "d.svm, line 1: 'qid' is not the index of a feature");
  EXPECT_EQ(libsvm_fault("1 1:inf\n"),
            "d.svm, line 1: the value of feature 1, 'inf', is not a finite number");
  EXPECT_EQ(libsvm_fault("1 1:\n"), "d.svm, line 1: the value of feature 1, '', is not a finite number");
  EXPECT_EQ(libsvm_fault("1 99999999:1\n"),
            "d.svm, line 1: index 99999999 is above 10000000, the most that is read");
}

}  // namespace
}  // namespace magva::table
