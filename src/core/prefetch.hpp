#pragma once
// What a sweep reads next, prefetched a few cache lines at a time between other work: the processor has only
// so many prefetches under way at once and waits if there are more; and if short pieces of many columns
// follow each other, it does not foresee by itself how they go on.
#include <vector>

#include "magva/types.hpp"

namespace magva {

class PrefetchQueue {
 public:
  /// For at most that many pieces of memory; what is beyond is not prefetched.
  explicit PrefetchQueue(Index pieces = 0) : pieces_(static_cast<std::size_t>(pieces)) {}

  void clear() { first_ = count_ = 0; }
  void add(const double* from, Index values) {
    if (count_ < pieces_.size()) pieces_[count_++] = {from, from + values};
  }

  /// Prefetches the next few lines.
  void issue() {
    for (int left = kAtOnce; left > 0 && first_ < count_;) {
      Piece& piece = pieces_[first_];
      for (; left > 0 && piece.from < piece.end; piece.from += kLine, --left)
        __builtin_prefetch(piece.from, 0, 2);
      if (piece.from >= piece.end) ++first_;
    }
  }
  void issue_all() {
    while (first_ < count_) issue();
  }

 private:
  static constexpr int kAtOnce = 32;
  static constexpr Index kLine = 8;  // doubles in a cache line
  struct Piece {
    const double* from;
    const double* end;
  };
  std::vector<Piece> pieces_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace magva
