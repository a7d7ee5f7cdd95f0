// Data in several files are those of one.
#include "table/part_files.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "magva/error.hpp"
#include "support/temporary_folder.hpp"
#include "table/design_parts.hpp"

namespace magva::table {
namespace {

class PartFiles : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = (folder_.path() / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string pattern(const std::string& name) const { return (folder_.path() / name).string(); }

  test::TemporaryFolder folder_;
};

std::string read_all(ByteSource& source, std::size_t piece) {
  std::string text;
  std::string buffer(piece, '\0');
  while (const std::size_t got = source.read(buffer.data(), piece)) text.append(buffer, 0, got);
  return text;
}

TEST_F(PartFiles, AreReadAsOneWhateverTheirLineEndsAndThePieces) {
  write("part-2.csv", "a,b\r\n5,6\r\n");
  write("part-1.csv",
        "\xef\xbb\xbf"
        "a,b\n3,4");  // no line end, a byte order mark
  write("part-0.csv", "a,b\n1,2\n");
  write("part-3.csv", "a,b\n");  // no rows
  for (const std::size_t piece : {1U, 3U, 1000U}) {
    JoinedSource source(matching_files(pattern("part-*.csv")));
    EXPECT_EQ(read_all(source, piece), "a,b\n1,2\n3,4\n5,6\r\n");
  }
}

TEST_F(PartFiles, HeadersMustBeTheSame) {
  write("part-0.csv", "a,b\n1,2\n");
  write("part-1.csv", "a,c\n1,2\n");
  JoinedSource source(matching_files(pattern("part-*")));
  EXPECT_THROW(read_all(source, 100), DataError);
}

TEST_F(PartFiles, SparseTablesHaveNoHeader) {
  write("part-0.svm", "1 1:2 3:4\n");
  write("part-1.svm", "0 2:5\n");
  JoinedSource source(matching_files(pattern("part-*")));
  EXPECT_EQ(read_all(source, 100), "1 1:2 3:4\n0 2:5\n");
}

TEST_F(PartFiles, APatternThatIsAFileIsThatFile) {
  const std::string path = write("odd[1].csv", "a\n1\n");
  EXPECT_FALSE(is_pattern(path));
  EXPECT_EQ(read_all(*open_bytes(path), 100), "a\n1\n");
  EXPECT_FALSE(is_pattern(pattern("plain.csv")));
  EXPECT_TRUE(is_pattern(pattern("part-?.csv")));
  EXPECT_THROW(matching_files(pattern("nothing-*")), IoError);
}

/// Rows x = 1, first, first + 1, ... with y = x.
void write_design(const std::string& path, Index first, Index rows) {
  design_file::Header header;
  header.rows = rows;
  header.spec.response = {"y", ResponseKind::real, false, {}};
  header.spec.terms = {{"x", NumberTerm{}}};
  EncodedRows part;
  part.x = RowMatrix::Ones(rows, 2);
  part.x.col(1) = Vector::LinSpaced(rows, static_cast<double>(first), static_cast<double>(first + rows - 1));
  part.y = part.x.col(1);
  part.rows.resize(static_cast<std::size_t>(rows));
  design_file::Writer writer(path, std::move(header));
  writer.append(part);
  writer.commit();
}

TEST_F(PartFiles, OfADesignARankKeepsItsRows) {
  write_design(pattern("part-0.magva"), 1, 3);
  write_design(pattern("part-1.magva"), 4, 5);
  const design_file::DesignParts parts(pattern("part-*.magva"));
  ASSERT_EQ(parts.header().rows, 8);
  for (const Range kept : {Range{0, 8}, Range{2, 5}, Range{4, 8}}) {
    design_file::JoinedRows joined(parts.header(), kept);
    parts.for_each([&](const design_file::DesignFile& part) { joined.append(part); });
    const Design design = joined.design();
    const auto& rows = std::get<DenseRows<double>>(design.storage());
    ASSERT_EQ(rows.rows, 8);
    for (Index i = 0; i < 8; ++i) {
      EXPECT_EQ(joined.response(i), static_cast<double>(i + 1));
      const bool there = i >= kept.begin && i < kept.end;
      EXPECT_EQ(rows.data[2 * i + 1], there ? static_cast<double>(i + 1) : 0.0);
    }
  }
}

}  // namespace
}  // namespace magva::table
