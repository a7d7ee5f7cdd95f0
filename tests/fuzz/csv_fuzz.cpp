// The first byte chooses the size of the pieces in which the bytes arrive, and the kind of design; the rest
// is the file.
#include "magva/error.hpp"
#include "round_trip.hpp"
#include "table/read_table.hpp"

using namespace magva::table;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  ReadOptions options;
  options.format = Format::csv;
  options.max_line_bytes = 1024;
  options.max_columns = 64;
  MemorySource bytes({reinterpret_cast<const char*>(data) + 1, size - 1}, data[0] + std::size_t{1});
  try {
    const Table table = read_table(bytes, "fuzz.csv", options);
    fuzz::check_table(table);
    fuzz::check_design(table, data[0]);
  } catch (const magva::Error& error) {
    fuzz::require(error.what()[0] != '\0', "an error says something");
  }
  return 0;
}
