#include "magva/large_matrix.hpp"

#if defined(__linux__)
#include <sys/mman.h>

#include <cstdint>
#endif

namespace magva {

namespace {

#if defined(__linux__)
void ask_for_large_pages(const Matrix& x) {
  constexpr std::uintptr_t kPage = std::uintptr_t{2} << 20U;
  const auto begin = reinterpret_cast<std::uintptr_t>(x.data());
  const std::uintptr_t end = begin + sizeof(double) * static_cast<std::uintptr_t>(x.size());
  const std::uintptr_t first = (begin + kPage - 1) / kPage * kPage;
  const std::uintptr_t last = end / kPage * kPage;
  // A refusal costs speed alone.
  if (first < last) static_cast<void>(madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE));
}
#else
void ask_for_large_pages(const Matrix&) {}
#endif

}  // namespace

Matrix large_matrix(Index rows, Index cols) {
  Matrix x(rows, cols);
  ask_for_large_pages(x);
  return x;
}

Matrix large_zeros(Index rows, Index cols) {
  Matrix x = large_matrix(rows, cols);
  x.setZero();
  return x;
}

}  // namespace magva
