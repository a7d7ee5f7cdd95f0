#pragma once
// A small pool of threads. Work is cut into tasks whose number depends on the problem alone, never on the
// number of threads, and results are combined in the order of the tasks: the same bits for any number of
// threads.
#include <memory>
#include <type_traits>

#include "magva/types.hpp"

namespace magva {

class Workers {
 public:
  /// `threads` includes the caller; 1 starts no thread.
  explicit Workers(int threads = 1);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int threads() const;

  /// Calls work(task) for task = 0 .. tasks-1, each once, in any order, and returns when all are done. `work`
  /// must not throw and must not call `run` again. Allocates nothing.
  template <class Work>
  void run(Index tasks, Work&& work) {
    using Plain = std::remove_reference_t<Work>;
    if (tasks == 1 || threads() == 1) {
      for (Index task = 0; task < tasks; ++task) work(task);
      return;
    }
    dispatch(tasks, const_cast<void*>(static_cast<const void*>(&work)),
             [](void* body, Index task) { (*static_cast<Plain*>(body))(task); });
  }

 private:
  void dispatch(Index tasks, void* body, void (*call)(void*, Index));
  struct Pool;
  std::unique_ptr<Pool> pool_;
};

/// The piece [begin, end) of 0 .. size-1 that belongs to `task` of `tasks`.
struct Range {
  Index begin;
  Index end;
  Index size() const { return end - begin; }
};

inline Range piece(Index size, Index tasks, Index task) {
  return {size * task / tasks, size * (task + 1) / tasks};
}

}  // namespace magva
