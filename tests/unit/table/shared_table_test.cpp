// Ranks that read some of the files each get the table that one reads from all of them.
#include "table/shared_table.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "magva/error.hpp"
#include "support/temporary_folder.hpp"
#include "support/thread_ranks.hpp"

namespace magva::table {
namespace {

using test::TemporaryFolder;
using test::ThreadRanks;

constexpr int kRowsPerFile = 330'000;  // more than 4 MiB

/// Each has levels that the others have not, and `gap` is missing in the first.
void write_files(const TemporaryFolder& folder, int files, const std::string& last_line = "") {
  for (int file = 0; file < files; ++file) {
    std::ofstream out(folder.path() / ("part-" + std::to_string(file) + ".csv"));
    out << "y,site,x,gap\n";
    for (int i = 0; i < kRowsPerFile; ++i) {
      const int k = file * kRowsPerFile + i;
      out << k % 2 << ",s" << (k % 7 + 5 * file) << ',' << (k % 1000) / 8. << ','
          << (file == 0 ? std::string("NA") : "g" + std::to_string(k % 3)) << '\n';
      if (i % 1000 == 0) out << '\n';
    }
    if (file + 1 == files) out << last_line;
  }
}

std::vector<Table> read_on_ranks(const std::string& pattern, int size) {
  ThreadRanks ranks(size);
  std::vector<Table> tables(static_cast<std::size_t>(size));
  {
    std::vector<std::jthread> threads;
    for (int r = 0; r < size; ++r)
      threads.emplace_back([&, r] {
        ThreadRanks::Rank rank(ranks, r);
        ReadOptions options;
        options.digest = true;
        tables[static_cast<std::size_t>(r)] = read_shared(pattern, options, rank);
      });
  }
  return tables;
}

void expect_same(const Table& a, const Table& b) {
  ASSERT_EQ(a.rows, b.rows);
  ASSERT_EQ(a.names(), b.names());
  EXPECT_EQ(a.source, b.source);
  for (std::size_t j = 0; j < a.columns.size(); ++j) {
    EXPECT_EQ(a.columns[j].kind, b.columns[j].kind);
    EXPECT_EQ(a.columns[j].levels, b.columns[j].levels);
    Index differ = 0;
    for (Index i = 0; i < a.rows; ++i)
      differ += a.columns[j].missing(i) != b.columns[j].missing(i) ||
                (!a.columns[j].missing(i) && a.columns[j].values[i] != b.columns[j].values[i]);
    EXPECT_EQ(differ, 0) << a.columns[j].name;
  }
  for (const Index row : {Index{0}, Index{1001}, a.rows / 2, a.rows - 1})
    EXPECT_EQ(a.lines.line_of(row), b.lines.line_of(row));
}

TEST(SharedTable, IsTheTableOfOneReader) {
  const TemporaryFolder folder;
  write_files(folder, 3);
  const std::string pattern = folder.path() / "part-*.csv";
  ReadOptions options;
  options.digest = true;
  const Table alone = read_table(pattern, options);
  for (const int size : {2, 3}) {
    const std::vector<Table> tables = read_on_ranks(pattern, size);
    for (const Table& table : tables) expect_same(table, alone);
    EXPECT_EQ(tables[0].sha256, alone.sha256);
    EXPECT_TRUE(tables[1].sha256.empty());  // it was not read whole there
  }
}

TEST(SharedTable, FaultsAreNamedAsByOneReader) {
  const TemporaryFolder folder;
  write_files(folder, 2, "1,s1,typing error,g1\n");
  const std::string pattern = folder.path() / "part-*.csv";
  std::string alone;
  try {
    read_table(pattern, {});
  } catch (const DataError& error) {
    alone = error.what();
  }
  ASSERT_FALSE(alone.empty());
  ThreadRanks ranks(2);
  std::vector<std::string> said(2);
  {
    std::vector<std::jthread> threads;
    for (int r = 0; r < 2; ++r)
      threads.emplace_back([&, r] {
        ThreadRanks::Rank rank(ranks, r);
        try {
          read_shared(pattern, {}, rank);
        } catch (const DataError& error) {
          said[static_cast<std::size_t>(r)] = error.what();
        }
      });
  }
  EXPECT_EQ(said[0], alone);
  EXPECT_EQ(said[1], alone);
}

TEST(SharedTable, FilesAreSharedByTheirSizes) {
  const std::vector<std::uint64_t> sizes{10, 10, 10, 70, 50, 50};
  Index next = 0;
  for (int rank = 0; rank < 3; ++rank) {
    const Range own = files_of_rank(sizes, rank, 3);
    EXPECT_EQ(own.begin, next);
    next = own.end;
  }
  EXPECT_EQ(next, 6);
  EXPECT_EQ(files_of_rank(sizes, 0, 3).end, 4);  // 100 of 200 bytes: the next file is larger still
  EXPECT_EQ(files_of_rank({5}, 0, 2).size() + files_of_rank({5}, 1, 2).size(), 1);
}

}  // namespace
}  // namespace magva::table
