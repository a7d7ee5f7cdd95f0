#include "core/huge_pages.hpp"

#if defined(__linux__)
#include <linux/mman.h>
#include <sys/mman.h>

#include <cstdint>
#endif

namespace magva {

namespace {

#if defined(__linux__)
/// Advises the huge pages that lie within. A refusal costs speed alone.
void advise(const void* from, std::size_t bytes, int advice) {
  constexpr std::size_t kPage = std::size_t{2} << 20U;
  const std::size_t before = (kPage - reinterpret_cast<std::uintptr_t>(from) % kPage) % kPage;
  if (bytes < before + kPage) return;
  auto* first = static_cast<char*>(const_cast<void*>(from)) + before;
  static_cast<void>(madvise(first, (bytes - before) / kPage * kPage, advice));
}

void advise_huge_pages(const void* from, std::size_t bytes) { advise(from, bytes, MADV_HUGEPAGE); }
#else
void advise_huge_pages(const void*, std::size_t) {}
#endif

}  // namespace

Matrix huge_page_matrix(Index rows, Index cols) {
  Matrix x(rows, cols);
  advise_huge_pages(x.data(), sizeof(double) * static_cast<std::size_t>(x.size()));
  return x;
}

Matrix huge_page_zeros(Index rows, Index cols) {
  Matrix x = huge_page_matrix(rows, cols);
  x.setZero();
  return x;
}

#if defined(MADV_COLLAPSE)  // since Linux 6.1
void move_to_huge_pages(const void* from, std::size_t bytes) { advise(from, bytes, MADV_COLLAPSE); }
#else
void move_to_huge_pages(const void*, std::size_t) {}
#endif

}  // namespace magva
