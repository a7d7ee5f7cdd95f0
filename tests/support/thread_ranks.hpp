#pragma once
#include <barrier>
#include <cstring>
#include <vector>

#include "magva/distribute.hpp"

namespace magva::test {

/// Ranks that are threads of this process.
class ThreadRanks {
 public:
  explicit ThreadRanks(int size) : size_(size), barrier_(size), values_(static_cast<std::size_t>(size)) {}

  class Rank final : public Communicator {
   public:
    Rank(ThreadRanks& all, int rank) : all_(all), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return all_.size_; }
    void broadcast(void* data, std::size_t bytes) override {
      if (rank_ == 0) all_.message_ = data;
      all_.barrier_.arrive_and_wait();
      if (rank_ != 0) std::memcpy(data, all_.message_, bytes);
      all_.barrier_.arrive_and_wait();
    }
    void sum_to_leader(double* values, Index count) override {
      all_.values_[static_cast<std::size_t>(rank_)] = values;
      all_.barrier_.arrive_and_wait();
      for (int r = 1; rank_ == 0 && r < size(); ++r)
        for (Index i = 0; i < count; ++i) values[i] += all_.values_[static_cast<std::size_t>(r)][i];
      all_.barrier_.arrive_and_wait();
    }

   private:
    ThreadRanks& all_;
    int rank_;
  };

 private:
  int size_;
  std::barrier<> barrier_;
  void* message_ = nullptr;
  std::vector<double*> values_;
};

}  // namespace magva::test
