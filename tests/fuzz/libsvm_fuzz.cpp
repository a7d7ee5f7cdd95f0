// The first byte chooses the size of the pieces in which the bytes arrive, and the kind of design; the rest
// is the file.
#include "magva/error.hpp"
#include "round_trip.hpp"
#include "table/libsvm_reader.hpp"
#include "table/read_table.hpp"

using namespace magva::table;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  ReadOptions options;
  options.format = Format::libsvm;
  options.max_line_bytes = 1024;
  options.max_columns = 1000;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  MemorySource bytes(text, data[0] + std::size_t{1});
  looks_like_libsvm(text);
  try {
    const Table table = read_table(bytes, "fuzz.svm", options);
    fuzz::check_table(table);
    fuzz::check_design(table, data[0]);
  } catch (const magva::Error& error) {
    fuzz::require(error.what()[0] != '\0', "an error says something");
  }
  return 0;
}
