#pragma once
// The design file: a design matrix with response and weights, ready to be mapped into memory. All
// little-endian:
//
//   bytes 0-7      "\x89magvaD\n"
//   bytes 8-11     version, 1
//   bytes 12-15    0x01020304, which shows the byte order
//   bytes 16-23    length of the JSON header
//   bytes 24-87    SHA-256 of the JSON header, 64 hexadecimal digits
//   bytes 88-127   zeros
//   from byte 128  the JSON header
//   sections       response (float64), weights (float64, if there are any) and rows (row after row, the
//                  intercept first, float64 or float32), each from the next multiple of 4096 bytes
//
// The header says what the columns are and how new data are coded, and holds the SHA-256 of each section: its
// own digest stands for the whole file.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "table/design_spec.hpp"

namespace magva::design_file {

inline constexpr std::string_view kMagic = "\x89magvaD\n";
inline constexpr std::uint32_t kVersion = 1;

enum class Element { float64, float32 };
inline Index size_of(Element element) { return element == Element::float64 ? 8 : 4; }

struct Section {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string sha256 = std::string(64, '0');
};

/// The table that the rows come from.
struct Source {
  std::string file;
  Index rows = 0;
  Index columns = 0;
  std::string sha256;
};

struct Header {
  std::string made_by;
  Index rows = 0;
  Element element = Element::float64;
  bool weighted = false;
  table::DesignSpec spec;
  std::vector<std::string> notes;  ///< what was coded and dropped, for the user
  Source source;
  Section response, weights, matrix;  ///< placed by `lay_out`

  std::string sha256;  ///< of the JSON, as read

  Index columns() const { return static_cast<Index>(spec.names().size()); }
};

/// Lays the sections out behind the header.
void lay_out(Header& header);
/// The bytes before the first section.
std::string encode(const Header& header);

/// The header of a file with these bytes, its sections within them. DataError, naming the file, if they
/// are none.
Header decode(std::string_view file, const std::string& name);
/// The same of the JSON alone, for a file of this size.
Header parse_header(std::string_view json, std::uint64_t file_size, const std::string& name);

/// Whether a regular file starts as design files do.
bool is_design_file(const std::string& path);

}  // namespace magva::design_file
