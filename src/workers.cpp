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

// A round of tasks is over when all tasks are done, whether or not every thread has come: on a busy machine a
// thread may not get a core for longer than the whole round takes.
struct Workers::Pool {
  // The round's number and the next task in one word: who changes it from what was read has that task.
  static constexpr std::uint64_t kClosed = 0xffffffffU;
  static constexpr Index task_in(std::uint64_t ticket) { return static_cast<Index>(ticket & kClosed); }
  static constexpr std::uint64_t round_in(std::uint64_t ticket) { return ticket >> 32U; }

  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<std::uint64_t> ticket{kClosed};
  std::atomic<bool> stop{false};
  std::atomic<Index> tasks{0};
  std::atomic<Index> done{0};
  void* body = nullptr;  // and `call`: written while no task can be taken, read by those who have one
  void (*call)(void*, Index) = nullptr;
  std::vector<std::thread> threads;

  void take_tasks() {
    std::uint64_t seen = ticket.load(std::memory_order_acquire);
    while (task_in(seen) < tasks.load(std::memory_order_relaxed)) {
      if (!ticket.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) continue;
      call(body, task_in(seen));
      done.fetch_add(1, std::memory_order_release);
      seen = ticket.load(std::memory_order_acquire);
    }
  }

  bool await_round(std::uint64_t last) {
    const auto has_come = [&] { return stop || round_in(ticket.load(std::memory_order_acquire)) != last; };
    for (int spin = 0; spin < kSpins; ++spin) {
      if (has_come()) return !stop;
      pause_briefly();
    }
    std::unique_lock lock(mutex);
    wake.wait(lock, has_come);
    return !stop;
  }

  void serve() {
    std::uint64_t last = 0;
    while (await_round(last)) {
      last = round_in(ticket.load(std::memory_order_acquire));
      take_tasks();
    }
  }

  void start_round(Index count) {
    const std::uint64_t round = round_in(ticket.load(std::memory_order_relaxed)) + 1;
    done.store(0, std::memory_order_relaxed);
    tasks.store(count, std::memory_order_relaxed);
    {
      const std::lock_guard lock(mutex);
      ticket.store(round << 32U, std::memory_order_release);
    }
    wake.notify_all();
  }

  void close() { ticket.fetch_or(kClosed, std::memory_order_acq_rel); }
};

Workers::Workers(int threads) {
  if (threads < 1) throw UsageError("the number of threads must be at least 1");
  if (threads == 1) return;
  pool_ = std::make_unique<Pool>();
  for (int i = 1; i < threads; ++i) pool_->threads.emplace_back([pool = pool_.get()] { pool->serve(); });
}

Workers::~Workers() {
  if (!pool_) return;
  {
    const std::lock_guard lock(pool_->mutex);
    pool_->stop = true;
  }
  pool_->wake.notify_all();
  for (auto& thread : pool_->threads) thread.join();
}

int Workers::threads() const { return pool_ ? static_cast<int>(pool_->threads.size()) + 1 : 1; }

void Workers::dispatch(Index tasks, void* body, void (*call)(void*, Index)) {
  pool_->body = body;
  pool_->call = call;
  pool_->start_round(tasks);
  pool_->take_tasks();
  while (pool_->done.load(std::memory_order_acquire) != tasks) pause_briefly();
  pool_->close();
}

}  // namespace magva
