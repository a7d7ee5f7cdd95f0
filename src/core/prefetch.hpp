#pragma once
// What a sweep comes to next, asked for a few cache lines at a time between other work. The processor takes
// only so many requests at once, and waits where there are more; and where short pieces of many columns
// follow each other it does not see by itself how they go on.
#include <vector>

#include "magva/types.hpp"

namespace magva {

class Ahead {
 public:
  /// For at most that many pieces of memory; what is beyond is not asked for.
  explicit Ahead(Index pieces = 0) : pieces_(static_cast<std::size_t>(pieces)) {}

  void clear() { first_ = count_ = 0; }
  void add(const double* from, Index numbers) {
    if (count_ < pieces_.size()) pieces_[count_++] = {from, from + numbers};
  }

  /// Asks for the next few lines.
  void some() {
    for (int left = kAtOnce; left > 0 && first_ < count_;) {
      Piece& piece = pieces_[first_];
      for (; left > 0 && piece.from < piece.end; piece.from += kLine, --left)
        __builtin_prefetch(piece.from, 0, 2);
      if (piece.from >= piece.end) ++first_;
    }
  }
  void all() {
    while (first_ < count_) some();
  }

 private:
  static constexpr int kAtOnce = 32;
  static constexpr Index kLine = 8;  // numbers in a cache line
  struct Piece {
    const double* from;
    const double* end;
  };
  std::vector<Piece> pieces_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace magva
