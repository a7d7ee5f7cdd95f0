#include "table/utf8.hpp"

#include <cstddef>
#include <cstdint>

namespace magva::input {

namespace {
struct Lead {
  std::size_t length;    ///< bytes of the whole character, 0 for a byte that starts none
  std::uint32_t bits;    ///< of the code point, from the lead byte
  std::uint32_t lowest;  ///< the first code point that needs this many bytes
};

Lead read_lead(unsigned char byte) {
  if (byte < 0x80U) return {1, byte, 0};
  if ((byte & 0xE0U) == 0xC0U) return {2, byte & 0x1FU, 0x80};
  if ((byte & 0xF0U) == 0xE0U) return {3, byte & 0x0FU, 0x800};
  if ((byte & 0xF8U) == 0xF0U) return {4, byte & 0x07U, 0x10000};
  return {0, 0, 0};
}

bool is_scalar_value(std::uint32_t point) { return point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF); }
}  // namespace

bool is_utf8(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size();) {
    const Lead lead = read_lead(static_cast<unsigned char>(bytes[i]));
    if (lead.length == 0 || lead.length > bytes.size() - i) return false;
    std::uint32_t point = lead.bits;
    for (std::size_t k = 1; k < lead.length; ++k) {
      const auto byte = static_cast<unsigned char>(bytes[i + k]);
      if ((byte & 0xC0U) != 0x80U) return false;
      point = point << 6U | (byte & 0x3FU);
    }
    if (point < lead.lowest || !is_scalar_value(point)) return false;
    i += lead.length;
  }
  return true;
}

}  // namespace magva::input
