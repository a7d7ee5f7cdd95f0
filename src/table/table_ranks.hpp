#pragma once
// What ranks that each have some rows of a table do together: the rows of rank 0 come first, then those of
// rank 1, and so on. One process that has all rows does the same without anybody to talk to.
#include <string>
#include <vector>

#include "magva/distribute.hpp"
#include "table/byte_archive.hpp"

namespace magva::table {

/// Every function is called on all ranks, in the same order. What one of them throws in its own part of the
/// work, all throw: the sentence of the first that failed.
class TableRanks {
 public:
  /// A process alone.
  TableRanks() = default;
  explicit TableRanks(Communicator& ranks) : ranks_(ranks.size() > 1 ? &ranks : nullptr) {}

  bool alone() const { return ranks_ == nullptr; }
  int rank() const { return alone() ? 0 : ranks_->rank(); }
  int size() const { return alone() ? 1 : ranks_->size(); }
  bool leads() const { return rank() == 0; }

  /// Each does its part.
  template <class Work>
  void together(const Work& work) const {
    if (alone()) return work();
    std::exception_ptr failed;
    try {
      work();
    } catch (...) {
      failed = std::current_exception();
    }
    throw_if_any(failed);
  }

  /// Calls add() on one rank after another. It adds the rank's rows to `state`, which holds those of the
  /// ranks before it, so that sums are rounded as if one had all rows. All end with the same state.
  template <class State, class Add>
  void in_turn(State& state, const Add& add) const {
    if (alone()) return add();
    for (int turn = 0; turn < size(); ++turn) {
      std::string bytes;
      together([&] {
        if (turn != rank()) return;
        add();
        ByteWriter write;
        write(state);
        bytes = std::move(write.bytes());
      });
      broadcast(turn, bytes);
      if (turn != rank()) {
        ByteReader read(bytes);
        read(state);
      }
    }
  }

  /// Whether it is so on all.
  bool all(bool here) const;
  /// The values of all, one rank's after another's.
  Vector gather(Vector own) const;
  /// Where the rows of each rank begin among those of all, and where the last end.
  std::vector<Index> row_starts(Index own) const;
  /// Of rank `root`, to all.
  void broadcast(int root, std::string& bytes) const;
  void broadcast(int root, void* data, std::size_t bytes) const;

 private:
  void throw_if_any(const std::exception_ptr& failed) const;
  /// Each rank's number, on all.
  std::vector<double> numbers(double own) const;

  Communicator* ranks_ = nullptr;
};

}  // namespace magva::table
