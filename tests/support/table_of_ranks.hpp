#pragma once
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support/temporary_folder.hpp"
#include "support/thread_ranks.hpp"
#include "table/table_ranks.hpp"

namespace magva::test {

/// Calls work(ranks) on as many threads, each of which is a rank.
inline void on_ranks(int size, const std::function<void(const table::TableRanks&)>& work) {
  ThreadRanks all(size);
  std::vector<std::jthread> threads;
  for (int r = 0; r < size; ++r)
    threads.emplace_back([&, r] {
      ThreadRanks::Rank rank(all, r);
      work(table::TableRanks(rank));
    });
}

}  // namespace magva::test
