// Ranks that read some of the files each, or some rows of one file, together have the table that one reads.
#include "table/shared_table.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "magva/error.hpp"
#include "support/table_of_ranks.hpp"

namespace magva::table {
namespace {

using test::on_ranks;
using test::TemporaryFolder;

/// Each has levels that the others have not, and `gap` is missing in the first two.
void write_files(const TemporaryFolder& folder, int files, int rows) {
  for (int file = 0; file < files; ++file) {
    std::ofstream out(folder.path() / ("part-" + std::to_string(file) + ".csv"));
    out << "y,site,x,gap\n";
    for (int i = 0; i < rows; ++i) {
      const int k = file * rows + i;
      out << k % 2 << ",s" << (k % 7 + 5 * file) << ',' << (k % 1000) / 8. << ','
          << (file < 2 ? std::string("NA") : "g" + std::to_string(k % 3)) << '\n';
      if (i % 10 == 0) out << '\n';
    }
  }
}

std::vector<TableShare> read_on_ranks(const std::string& path, int size) {
  std::vector<TableShare> shares(static_cast<std::size_t>(size));
  on_ranks(size, [&](const TableRanks& ranks) {
    ReadOptions options;
    options.digest = true;
    shares[static_cast<std::size_t>(ranks.rank())] = read_shared(path, options, ranks);
  });
  return shares;
}

void expect_rows(const Table& own, const Table& all, Index first) {
  ASSERT_EQ(own.names(), all.names());
  EXPECT_EQ(own.source, all.source);
  for (std::size_t j = 0; j < all.columns.size(); ++j) {
    const Column &a = own.columns[j], &b = all.columns[j];
    EXPECT_EQ(a.kind, b.kind) << b.name;
    EXPECT_EQ(a.levels, b.levels) << b.name;
    Index differ = 0;
    for (Index i = 0; i < own.rows; ++i)
      differ += a.missing(i) != b.missing(first + i) || (!a.missing(i) && a.values[i] != b.values[first + i]);
    EXPECT_EQ(differ, 0) << b.name;
  }
  for (Index i = 0; i < own.rows; i += 7) EXPECT_EQ(own.place_of(i), all.place_of(first + i));
}

void expect_shares_of(const std::string& path) {
  ReadOptions options;
  options.digest = true;
  const Table alone = read_table(path, options);
  for (const int size : {2, 3, 5}) {
    const std::vector<TableShare> shares = read_on_ranks(path, size);
    Index first = 0;
    for (const TableShare& share : shares) {
      EXPECT_EQ(share.rows_of_all, alone.rows);
      expect_rows(share.rows, alone, first);
      first += share.rows.rows;
    }
    EXPECT_EQ(first, alone.rows);
    EXPECT_EQ(shares[0].rows.sha256, alone.sha256);
    EXPECT_TRUE(shares[1].rows.sha256.empty());  // the leader writes it down
  }
}

TEST(SharedTable, FilesAreThoseOfOneReader) {
  const TemporaryFolder folder;
  write_files(folder, 4, 60);
  expect_shares_of(folder.path() / "part-*.csv");
}

TEST(SharedTable, RowsOfOneFileAreThoseOfOneReader) {
  const TemporaryFolder folder;
  write_files(folder, 1, 60);
  expect_shares_of(folder.path() / "part-0.csv");
}

TEST(SharedTable, RowsOfALargeFileAreSharedEvenly) {
  const TemporaryFolder folder;
  write_files(folder, 1, 300'000);  // several times as much as a reader looks at at once
  const std::vector<TableShare> shares = read_on_ranks(folder.path() / "part-0.csv", 2);
  for (const TableShare& share : shares) EXPECT_NEAR(static_cast<double>(share.rows.rows), 150'000, 75'000);
}

/// What the first 2^20 bytes do not decide, the first file does that has a cell: a number there makes a text
/// of a later file a fault.
TEST(SharedTable, LateColumnsAreWhatTheirFirstCellSays) {
  const TemporaryFolder folder;
  const auto write = [&](int file, const std::string& cell) {
    std::ofstream out(folder.path() / ("part-" + std::to_string(file) + ".csv"));
    out << "y,late\n";
    for (int i = 0; i < 150'000; ++i) out << "1.25,NA\n";
    out << "1.25," << cell << '\n';
  };
  const std::string pattern = folder.path() / "part-*.csv";
  write(0, "NA");
  write(1, "red");
  write(2, "7");
  for (const TableShare& share : read_on_ranks(pattern, 3)) {
    EXPECT_EQ(share.rows.columns[1].kind, ColumnKind::text);
    EXPECT_EQ(share.rows.columns[1].levels, (std::vector<std::string>{"red", "7"}));
  }
  write(1, "7");
  write(2, "red");
  on_ranks(3, [&](const TableRanks& ranks) {
    try {
      read_shared(pattern, {}, ranks);
      ADD_FAILURE();
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find("part-2.csv, line 150002, column 'late'"), std::string::npos);
    }
  });
}

void expect_said_by_all(const std::string& path, const std::string& place) {
  std::string alone;
  try {
    read_table(path, {});
  } catch (const DataError& error) {
    alone = error.what();
  }
  EXPECT_NE(alone.find(place), std::string::npos) << alone;
  for (const int size : {2, 4})
    on_ranks(size, [&](const TableRanks& ranks) {
      try {
        read_shared(path, {}, ranks);
        ADD_FAILURE();
      } catch (const DataError& error) {
        EXPECT_EQ(error.what(), alone);
      }
    });
}

TEST(SharedTable, FaultsOfOneRankAreSaidByAll) {
  const TemporaryFolder folder;
  write_files(folder, 4, 60);
  std::ofstream(folder.path() / "part-2.csv", std::ios::app) << "1,s1,typing error,g1\n";
  expect_said_by_all(folder.path() / "part-*.csv", "part-2.csv, line 68, column 'x'");
  expect_said_by_all(folder.path() / "part-2.csv", "part-2.csv, line 68, column 'x'");
}

TEST(SharedTable, AFileWithAnotherHeaderIsNamed) {
  const TemporaryFolder folder;
  write_files(folder, 3, 20);
  std::ofstream(folder.path() / "part-2.csv") << "y,site,z,gap\n1,s1,2,g1\n";
  expect_said_by_all(folder.path() / "part-*.csv", "part-2.csv");
}

TEST(SharedTable, FilesWithoutRowsAreNoFault) {
  const TemporaryFolder folder;
  write_files(folder, 3, 20);
  std::ofstream(folder.path() / "part-3.csv") << "y,site,x,gap\n";
  expect_shares_of(folder.path() / "part-*.csv");
  for (int file = 0; file < 3; ++file)
    std::ofstream(folder.path() / ("part-" + std::to_string(file) + ".csv")) << "y,site,x,gap\n";
  expect_said_by_all(folder.path() / "part-*.csv", "has a header but no rows");
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
