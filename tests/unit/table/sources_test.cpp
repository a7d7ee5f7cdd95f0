#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "magva/error.hpp"
#include "table/byte_source.hpp"
#include "table/column_builder.hpp"
#include "table/message.hpp"
#include "unit/table/support.hpp"

namespace magva::table {
namespace {

using test::sentence;

std::string gzipped(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(GzipSource, ReadsOneAndSeveralMembersByTheirMagicBytes) {
  for (const std::size_t piece : {1U, 10U, 100000U}) {
    const std::string bytes = gzipped("a,b\n1,2\n") + gzipped("3,4\n");
    MemorySource source(bytes, piece);
    const Table table = read_table(source, "data.csv");
    ASSERT_EQ(table.rows, 2);
    EXPECT_EQ(table.columns[1].values[1], 4);
  }
}

TEST(GzipSource, TakesTheFormatFromTheNameWithoutGz) {
  const std::string bytes = gzipped("a,b\tc\n1\t2\n");
  MemorySource source(bytes);
  EXPECT_EQ(read_table(source, "data.tsv.gz").columns[0].name, "a,b");
}

TEST(GzipSource, RefusesDamagedAndIncompleteData) {
  std::string bytes = gzipped("a,b\n1,2\n3,4\n5,6\n");
  const std::string cut = bytes.substr(0, bytes.size() - 9);
  EXPECT_EQ(sentence<DataError>([&] { test::table_of(cut, {}, "d.csv.gz"); }),
            "d.csv.gz: the gzip data end too early; the file is incomplete");
  bytes[bytes.size() - 6] = static_cast<char>(bytes[bytes.size() - 6] ^ 0x55);
  EXPECT_EQ(sentence<DataError>([&] { test::table_of(bytes, {}, "d.csv.gz"); }),
            "d.csv.gz: the gzip data are damaged");
}

TEST(ReadTable, RefusesMissingFilesAndFolders) {
  EXPECT_EQ(sentence<IoError>([] { read_table("no/such.csv"); }),
            "cannot read 'no/such.csv': No such file or directory");
  const std::string folder = std::filesystem::temp_directory_path().string();
  EXPECT_EQ(sentence<IoError>([&] { read_table(folder); }),
            "'" + folder + "' is a folder where a file with data is needed");
}

TEST(ReadTable, DigestsTheFileAsItLiesOnDisk) {
  const auto path =
      std::filesystem::temp_directory_path() / ("magva_digest_" + std::to_string(::getpid()) + ".csv");
  std::ofstream(path) << "a,b\n1,2\n";
  ReadOptions options;
  options.digest = true;
  const Table table = read_table(path.string(), options);
  EXPECT_EQ(table.sha256, sha256_of_file(path.string()));
  EXPECT_EQ(table.sha256.size(), 64U);
  std::filesystem::remove(path);
}

TEST(Sha256, EqualsThePublishedExamples) {
  // FIPS 180-4's example "abc" and the empty message.
  Sha256 abc;
  abc.update("a", 1);
  abc.update("bc", 2);
  EXPECT_EQ(abc.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256().hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(NearestName, FindsWhatWasProbablyMeant) {
  const std::vector<std::string> names = {"age", "income", "Class", "x1", "x2"};
  EXPECT_EQ(nearest_name("Clas", names), "Class");
  EXPECT_EQ(nearest_name("class", names), "Class");
  EXPECT_EQ(nearest_name("incmoe", names), "income");
  EXPECT_EQ(nearest_name("X2", names), "x2");
  EXPECT_EQ(nearest_name("temperature", names), std::nullopt);
  EXPECT_EQ(nearest_name("q", {}), std::nullopt);
  EXPECT_EQ(nearest_name("", {"a"}), std::nullopt);
  EXPECT_EQ(nearest_name("b", {"a"}), std::nullopt);
  EXPECT_EQ(suggestion("ag", names), " (did you mean 'age'?)");
  EXPECT_EQ(suggestion("temperature", names), "");
  EXPECT_EQ(nearest_name(std::string(500, 'a'), {std::string(400, 'a')}), std::string(400, 'a'));
}

TEST(Utf8, TellsWellFormedFromBroken) {
  for (const char* good : {"", "abc", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"})
    EXPECT_TRUE(is_utf8(good));
  for (const char* bad :
       {"\xC3", "\x80", "\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF",
        "\xE2\x82"
        "a"})
    EXPECT_FALSE(is_utf8(bad));
}

}  // namespace
}  // namespace magva::table
