#include "experiments/journal.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>

#include "experiments/schedule.hpp"
#include "magva/error.hpp"
#include "support/temporary_folder.hpp"

namespace magva::experiments {
namespace {

std::vector<Run> counted_runs(std::atomic<int>& calls, int count) {
  std::vector<Run> runs;
  for (int i = 0; i < count; ++i)
    runs.push_back({"run/" + std::to_string(i), [&calls, i](const StopFlag&) {
                      ++calls;
                      return Json{{"square", i * i}};
                    }});
  return runs;
}

const RunProgress kQuiet = [](std::size_t, std::size_t) {};
const StopFlag kNever = [] { return false; };

TEST(Journal, TakesUpFinishedRunsAndRunsOnlyTheOthers) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "runs.jsonl";
  std::atomic<int> calls = 0;
  {
    Journal journal(path, {{"seed", 1}});
    EXPECT_FALSE(run_all(
        counted_runs(calls, 10), journal, 1, [&] { return calls >= 4; }, kQuiet));
  }
  EXPECT_EQ(calls, 4);
  Journal journal(path, {{"seed", 1}});
  EXPECT_EQ(journal.taken_up(), 4U);
  EXPECT_TRUE(run_all(counted_runs(calls, 10), journal, 3, kNever, kQuiet));
  EXPECT_EQ(calls, 10);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(journal.at("run/" + std::to_string(i))["square"], i * i);
}

TEST(Journal, OtherSettingsStartAnew) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "runs.jsonl";
  { Journal(path, {{"seed", 1}}).add("a", {{"x", 1}}); }
  const Journal other(path, {{"seed", 2}});
  EXPECT_TRUE(other.replaced());
  EXPECT_FALSE(other.has("a"));
}

TEST(Journal, ATornLastLineIsDropped) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "runs.jsonl";
  {
    Journal journal(path, {{"seed", 1}});
    journal.add("a", {{"x", 1}});
  }
  std::ofstream(path, std::ios::app) << R"({"key":"b","resu)";
  Journal again(path, {{"seed", 1}});
  EXPECT_TRUE(again.has("a"));
  EXPECT_FALSE(again.has("b"));
  again.add("b", {{"x", 2}});
  EXPECT_EQ(Journal(path, {{"seed", 1}}).taken_up(), 2U);
}

TEST(Schedule, WhatARunThrowsIsThrownAndFinishedRunsStay) {
  const test::TemporaryFolder folder;
  std::atomic<int> calls = 0;
  auto runs = counted_runs(calls, 3);
  runs.push_back({"bad", [](const StopFlag&) -> Json { throw DataError("no"); }});
  Journal journal(folder.path() / "runs.jsonl", {});
  EXPECT_THROW(run_all(runs, journal, 1, kNever, kQuiet), DataError);
  EXPECT_TRUE(journal.has("run/2"));
}

}  // namespace
}  // namespace magva::experiments
