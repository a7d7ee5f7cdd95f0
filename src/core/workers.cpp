#include "magva/workers.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "magva/error.hpp"

namespace magva {

namespace {
// Fits of small problems hand out work every few microseconds: spin this often before sleeping.
constexpr int kSpins = 4000;

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}
}  // namespace

// A round of tasks is over when all tasks are done, whether or not every thread has come: on a busy machine a
// thread may not get a core for longer than the whole round takes. Each thread has a share of the tasks, the
// same in every round, so that it finds in its core's cache what it left there; then it takes what others
// have left of theirs.
struct Workers::Pool {
  explicit Pool(int count) : shares(static_cast<std::size_t>(count)) {}

  // The round's number and the next task in one word: who changes it from what was read has that task.
  static constexpr std::uint64_t kClosed = 0xffffffffU;
  static constexpr Index task_in(std::uint64_t ticket) { return static_cast<Index>(ticket & kClosed); }
  static constexpr std::uint64_t round_in(std::uint64_t ticket) { return ticket >> 32U; }
  struct alignas(64) Share {
    std::atomic<std::uint64_t> ticket{kClosed};
  };

  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Share> shares;
  std::atomic<bool> stop{false};
  std::atomic<Index> tasks{0};
  std::atomic<Index> done{0};
  void* body = nullptr;  // and `call`: written while no task can be taken, read by those who have one
  void (*call)(void*, Index) = nullptr;
  std::exception_ptr failure;  // the first of a round; written before its task counts as done
  std::vector<std::thread> threads;

  Range share_of(std::size_t thread) const {
    return piece(tasks.load(std::memory_order_relaxed), static_cast<Index>(shares.size()),
                 static_cast<Index>(thread));
  }

  void take_tasks(std::size_t thread) {
    for (std::size_t i = 0; i < shares.size(); ++i) take_tasks_of((thread + i) % shares.size());
  }

  void take_tasks_of(std::size_t thread) {
    auto& ticket = shares[thread].ticket;
    std::uint64_t seen = ticket.load(std::memory_order_acquire);
    while (task_in(seen) < share_of(thread).end) {
      if (!ticket.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) continue;
      try {
        call(body, task_in(seen));
      } catch (...) {  // such as no memory: for the caller, when nobody works on its data any more
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
      done.fetch_add(1, std::memory_order_release);
      seen = ticket.load(std::memory_order_acquire);
    }
  }

  std::uint64_t round(std::size_t thread) const {
    return round_in(shares[thread].ticket.load(std::memory_order_acquire));
  }

  bool await_round(std::size_t thread, std::uint64_t last) {
    const auto has_come = [&] { return stop || round(thread) != last; };
    for (int spin = 0; spin < kSpins; ++spin) {
      if (has_come()) return !stop;
      pause_briefly();
    }
    std::unique_lock lock(mutex);
    wake.wait(lock, has_come);
    return !stop;
  }

  void serve(std::size_t thread) {
    std::uint64_t last = 0;
    while (await_round(thread, last)) {
      last = round(thread);
      take_tasks(thread);
    }
  }

  void start_round(Index count) {
    const std::uint64_t next = round(0) + 1;
    done.store(0, std::memory_order_relaxed);
    tasks.store(count, std::memory_order_relaxed);
    {
      const std::lock_guard lock(mutex);
      for (std::size_t thread = 0; thread < shares.size(); ++thread)
        shares[thread].ticket.store((next << 32U) | static_cast<std::uint64_t>(share_of(thread).begin),
                                    std::memory_order_release);
    }
    wake.notify_all();
  }

  void end() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    wake.notify_all();
    for (auto& thread : threads) thread.join();
  }

  void close() {
    for (Share& share : shares) share.ticket.fetch_or(kClosed, std::memory_order_acq_rel);
  }
};

Workers::Workers(int threads) {
  if (threads < 1) throw UsageError("the number of threads must be at least 1");
  if (threads == 1) return;
  pool_ = std::make_unique<Pool>(threads);
  try {
    for (std::size_t i = 1; i < pool_->shares.size(); ++i)
      pool_->threads.emplace_back([pool = pool_.get(), i] { pool->serve(i); });
  } catch (...) {  // no memory, or no more threads
    pool_->end();
    throw;
  }
}

Workers::~Workers() {
  if (pool_) pool_->end();
}

int Workers::threads() const { return pool_ ? static_cast<int>(pool_->threads.size()) + 1 : 1; }

void Workers::dispatch(Index tasks, void* body, void (*call)(void*, Index)) {
  pool_->body = body;
  pool_->call = call;
  pool_->start_round(tasks);
  pool_->take_tasks(0);
  while (pool_->done.load(std::memory_order_acquire) != tasks) pause_briefly();
  pool_->close();
  if (pool_->failure) std::rethrow_exception(std::exchange(pool_->failure, nullptr));
}

}  // namespace magva
