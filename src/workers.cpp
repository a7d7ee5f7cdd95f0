#include "magva/workers.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "magva/error.hpp"

namespace magva {

namespace {
// Fits of small problems hand out work every few microseconds: spin this often before sleeping.
constexpr int kSpins = 4000;

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
}  // namespace

struct Workers::Pool {
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<std::uint64_t> round{0};
  std::atomic<bool> stop{false};
  std::atomic<Index> next{0};
  std::atomic<int> busy{0};
  Index tasks = 0;
  void* body = nullptr;
  void (*call)(void*, Index) = nullptr;
  std::vector<std::thread> threads;

  void take_tasks() {
    for (Index task = next.fetch_add(1); task < tasks; task = next.fetch_add(1)) call(body, task);
  }

  bool await_round(std::uint64_t seen) {
    for (int spin = 0; spin < kSpins; ++spin) {
      if (round.load(std::memory_order_acquire) != seen) return !stop;
      pause_briefly();
    }
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return round.load(std::memory_order_acquire) != seen; });
    return !stop;
  }

  void serve() {
    std::uint64_t seen = 0;
    while (await_round(seen)) {
      ++seen;
      take_tasks();
      busy.fetch_sub(1, std::memory_order_release);
    }
  }

  void start_round() {
    {
      const std::lock_guard lock(mutex);
      round.fetch_add(1, std::memory_order_release);
    }
    wake.notify_all();
  }
};

Workers::Workers(int threads) {
  if (threads < 1) throw UsageError("the number of threads must be at least 1");
  if (threads == 1) return;
  pool_ = std::make_unique<Pool>();
  for (int i = 1; i < threads; ++i) pool_->threads.emplace_back([pool = pool_.get()] { pool->serve(); });
}

Workers::~Workers() {
  if (!pool_) return;
  pool_->stop = true;
  pool_->start_round();
  for (auto& thread : pool_->threads) thread.join();
}

int Workers::threads() const { return pool_ ? static_cast<int>(pool_->threads.size()) + 1 : 1; }

void Workers::dispatch(Index tasks, void* body, void (*call)(void*, Index)) {
  pool_->tasks = tasks;
  pool_->body = body;
  pool_->call = call;
  pool_->next = 0;
  pool_->busy = static_cast<int>(pool_->threads.size());
  pool_->start_round();
  pool_->take_tasks();
  while (pool_->busy.load(std::memory_order_acquire) != 0) pause_briefly();
}

}  // namespace magva
