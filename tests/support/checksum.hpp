#pragma once
// What ends a checksummed file, for those who change one and would not be found out.
#include <cstdint>
#include <cstring>
#include <vector>

namespace magva::test {

/// Appends the FNV-1a hash of a file's content to it.
inline void append_checksum(std::vector<char>& content) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char byte : content) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211U;
  const std::size_t end = content.size();
  content.resize(end + sizeof hash);
  std::memcpy(content.data() + end, &hash, sizeof hash);
}

}  // namespace magva::test
