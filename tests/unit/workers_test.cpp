#include "magva/workers.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "magva/error.hpp"

namespace magva {
namespace {

TEST(Workers, RunsEveryTaskOnceForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 4}) {
    Workers workers(threads);
    std::vector<int> calls(1000, 0);
    for (int round = 0; round < 200; ++round)
      workers.run(static_cast<Index>(calls.size()),
                  [&](Index task) { ++calls[static_cast<std::size_t>(task)]; });
    for (const int count : calls) EXPECT_EQ(count, 200);
  }
}

TEST(Workers, RefusesZeroThreads) { EXPECT_THROW(Workers(0), UsageError); }

TEST(Piece, CoversTheRangeWithoutGapsOrOverlap) {
  Index covered = 0;
  for (Index task = 0; task < 7; ++task) {
    const Range range = piece(100, 7, task);
    EXPECT_EQ(range.begin, covered);
    covered = range.end;
  }
  EXPECT_EQ(covered, 100);
}

TEST(Workers, HandOverWhatATaskThrows) {
  for (const int threads : {1, 3}) {
    Workers workers(threads);
    EXPECT_THROW(workers.run(64,
                             [](Index task) {
                               if (task % 7 == 3) throw std::bad_alloc();
                             }),
                 std::bad_alloc);
    std::atomic<int> done{0};
    workers.run(64, [&](Index) { ++done; });
    EXPECT_EQ(done, 64);
  }
}

}  // namespace
}  // namespace magva
