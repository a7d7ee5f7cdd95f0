#include "core/atomic_file.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temporary_folder.hpp"

namespace magva::io {
namespace {

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

TEST(AtomicFile, TakesItsNameWhenItIsWhole) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "text";
  write_text(path, [](std::ostream& out) { out << "first"; });
  write_text(path, [&](std::ostream& out) {
    out << "second";
    out.flush();
    EXPECT_EQ(read_text(path), "first");
  });
  EXPECT_EQ(read_text(path), "second");
  EXPECT_EQ(files_in(folder.path()), 1U);
}

TEST(AtomicFile, LeavesNothingWithoutACommit) {
  const test::TemporaryFolder folder;
  {
    const AtomicFile file(folder.path() / "never");
    std::ofstream(file.temporary()) << "half";
    EXPECT_EQ(files_in(folder.path()), 1U);
  }
  EXPECT_EQ(files_in(folder.path()), 0U);
  EXPECT_THROW(write_text(folder.path() / "thrown", [](std::ostream&) { throw DataError("no"); }), DataError);
  EXPECT_EQ(files_in(folder.path()), 0U);
}

TEST(AtomicFile, TwoOfOneNameDoNotMeet) {
  const test::TemporaryFolder folder;
  const AtomicFile one(folder.path() / "text"), other(folder.path() / "text");
  EXPECT_NE(one.temporary(), other.temporary());
}

TEST(AtomicFile, SaysWhatToDo) {
  const test::TemporaryFolder folder;
  try {
    write_text(folder.path() / "no folder" / "text", [](std::ostream&) {});
    FAIL() << "wrote into a folder that does not exist";
  } catch (const IoError& error) {
    EXPECT_NE(std::string(error.what()).find("check that its folder exists"), std::string::npos);
  }
}

}  // namespace
}  // namespace magva::io
