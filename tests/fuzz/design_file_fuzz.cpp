// A design file's header: refused with a sentence, or one whose sections lie within the file.
#include "magva/error.hpp"
#include "round_trip.hpp"
#include "table/design_file_header.hpp"

using namespace magva::design_file;
namespace fuzz = magva::table::fuzz;

namespace {
void require_within(const Header& header, std::uint64_t file_size) {
  for (const Section* section : {&header.response, &header.matrix}) {
    fuzz::require(section->offset <= file_size, "a section starts within the file");
    fuzz::require(section->bytes <= file_size - section->offset, "a section ends within the file");
    fuzz::require(section->offset % 64 == 0, "a section is aligned");
  }
  fuzz::require(header.rows * 8 == static_cast<magva::Index>(header.response.bytes),
                "a response for each row");
}

template <class Read>
void try_to(Read read) {
  try {
    read();
  } catch (const magva::Error& error) {
    fuzz::require(error.what()[0] != '\0', "an error says something");
  }
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try_to([&] { require_within(decode(bytes, "fuzz.magva"), size); });
  // The digest keeps nearly all changes from the JSON: read it by itself too, of the only sizes that can fit.
  constexpr std::uint64_t kSize = 8192 + 48;
  try_to([&] {
    const Header header = parse_header(bytes, kSize, "fuzz.magva");
    require_within(header, kSize);
    Header again = header;
    lay_out(again);
    fuzz::require(again.rows == header.rows, "a header can be laid out");
  });
  return 0;
}
