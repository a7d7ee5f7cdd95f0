#pragma once
// A column of doubles that grows. Large blocks are moved by the operating system (realloc), not copied, and
// memory beyond the last value is never touched: growing costs no peak, which a std::vector's would.
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#include "magva/types.hpp"

namespace magva::input {

class Doubles {
 public:
  Index size() const { return size_; }
  double operator[](Index i) const { return data_.get()[i]; }
  std::span<const double> span() const { return {data_.get(), static_cast<std::size_t>(size_)}; }
  Eigen::Map<const Vector> vector() const { return {data_.get(), size_}; }

  void reserve(Index capacity) {
    if (capacity > capacity_) reallocate(capacity);
  }
  /// Room for `count` more values at the end, which the caller fills.
  double* extend(Index count) {
    if (size_ + count > capacity_) reallocate(std::max(size_ + count, capacity_ + capacity_ / 2));
    double* added = data_.get() + size_;
    size_ += count;
    return added;
  }
  /// Keeps the memory.
  void clear() { size_ = 0; }
  void push_back(double value) { *extend(1) = value; }

 private:
  struct Free {
    void operator()(double* block) const { std::free(block); }
  };

  void reallocate(Index capacity) {
    void* moved = std::realloc(data_.get(), static_cast<std::size_t>(capacity) * sizeof(double));
    if (moved == nullptr) throw std::bad_alloc();
    static_cast<void>(data_.release());
    data_.reset(static_cast<double*>(moved));
    capacity_ = capacity;
  }

  std::unique_ptr<double[], Free> data_;
  Index size_ = 0;
  Index capacity_ = 0;
};

}  // namespace magva::input
