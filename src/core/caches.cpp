#include "core/caches.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace magva::detail {

namespace {

constexpr Index kKilobyte = 1024;
constexpr Index kMegabyte = kKilobyte * kKilobyte;

/// The C library's answer in bytes, 0 if it does not know.
Index from_c_library([[maybe_unused]] int level) {
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  constexpr int kNames[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  return std::max<Index>(0, sysconf(kNames[level - 1]));
#else
  return 0;
#endif
}

template <class Value>
Value read_first(const std::string& path) {
  Value value{};
  std::ifstream(path) >> value;
  return value;
}

/// Linux's answer: a folder for each cache of the first processor, sizes written like 32K.
Index from_sys(int level) {
  constexpr int kMostCaches = 8;
  for (int i = 0; i < kMostCaches; ++i) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + '/';
    if (read_first<int>(folder + "level") != level) continue;
    if (read_first<std::string>(folder + "type") == "Instruction") continue;
    std::ifstream size(folder + "size");
    Index number = 0;
    char unit = 0;
    size >> number >> unit;
    return unit == 'K' ? number * kKilobyte : unit == 'M' ? number * kMegabyte : number;
  }
  return 0;
}

Index size_of(int level) {
  const Index known = from_c_library(level);
  return known > 0 ? known : from_sys(level);
}

/// Virtual machines may report none, or those of a whole board: kept within what a core can have.
CacheSizes read() {
  const auto within = [](Index size, Index otherwise, Index least, Index most) {
    return std::clamp(size > 0 ? size : otherwise, least, most);
  };
  CacheSizes sizes{};
  sizes.first = within(size_of(1), 32 * kKilobyte, 16 * kKilobyte, 256 * kKilobyte);
  sizes.second = within(size_of(2), 512 * kKilobyte, 128 * kKilobyte, 16 * kMegabyte);
  // A last level that many cores share, some of them other machines' in a data centre, is not one core's.
  sizes.last = within(size_of(3), sizes.second, sizes.second, 32 * sizes.second);
  return sizes;
}

}  // namespace

const CacheSizes& cache_sizes() {
  static const CacheSizes sizes = read();
  return sizes;
}

}  // namespace magva::detail
