#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>

namespace magva {

/// Zeros that take memory only where they are written to.
inline std::shared_ptr<char> lazy_memory(std::size_t bytes) {
  void* memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<char*>(memory), [bytes](char* data) { ::munmap(data, bytes); }};
}

}  // namespace magva
