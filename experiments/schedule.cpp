#include "experiments/schedule.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace magva::experiments {

namespace {

class Crew {
 public:
  Crew(const std::vector<Run>& runs, Journal& journal, const StopFlag& stop, const RunProgress& progress)
      : journal_(journal), stop_(stop), progress_(progress), all_(runs.size()) {
    for (const Run& run : runs)
      if (!journal.has(run.key)) missing_.push_back(&run);
    done_ = all_ - missing_.size();
    progress_(done_, all_);
  }

  bool run(int threads) {
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back([this] { work(); });
    work();
    for (std::thread& thread : others) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    return done_ == all_;
  }

 private:
  bool stopping() const { return failed_ || stop_(); }

  void work() {
    for (std::size_t i = next_++; i < missing_.size() && !stopping(); i = next_++) {
      try {
        journal_.add(missing_[i]->key, missing_[i]->work([this] { return stopping(); }));
        report();
      } catch (const Interrupted&) {
        return;
      } catch (...) {
        fail();
      }
    }
  }

  void report() {
    const std::lock_guard lock(mutex_);
    progress_(++done_, all_);
  }

  void fail() {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    failed_ = true;
  }

  Journal& journal_;
  const StopFlag& stop_;
  const RunProgress& progress_;
  std::vector<const Run*> missing_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::size_t done_ = 0, all_ = 0;
};

}  // namespace

bool run_all(const std::vector<Run>& runs, Journal& journal, int threads, const StopFlag& stop,
             const RunProgress& progress) {
  return Crew(runs, journal, stop, progress).run(threads);
}

}  // namespace magva::experiments
