// A stored specification that something damaged: refused with a sentence, or good for a table.
#include <nlohmann/json.hpp>

#include "magva/error.hpp"
#include "round_trip.hpp"
#include "table/design_spec.hpp"
#include "table/read_table.hpp"

using namespace magva::table;

namespace {
Table table_of(std::string_view text, const char* path) {
  MemorySource bytes(text);
  return read_table(bytes, path);
}

void apply_to(const DesignSpec& spec, const Table& table) {
  try {
    const EncodedRows design = encode(spec, table, MissingPolicy::drop);
    const auto columns = static_cast<magva::Index>(design.names.size());
    const magva::Index made = spec.sparse() ? design.sparse_x.cols() : design.x.cols();
    fuzz::require(made == columns, "every column has a name");
  } catch (const magva::Error& error) {
    fuzz::require(error.what()[0] != '\0', "an error says something");
  }
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const Table dense = table_of("y,x,c,w\ng,1,a,1\nb,2,b,0\ng,3,c,\ng,4,a,1\n", "fuzz.csv");
  static const Table sparse = table_of("1 1:2 3:4\n-1 2:1 5:-1\n", "fuzz.svm");
  const auto json = nlohmann::json::parse(data, data + size, nullptr, false);
  if (json.is_discarded()) return 0;
  try {
    const DesignSpec spec = design_spec_from_json(json);
    const auto written = to_json(spec);
    fuzz::require(to_json(design_spec_from_json(written)) == written, "a specification survives JSON");
    apply_to(spec, dense);
    apply_to(spec, sparse);
  } catch (const magva::Error& error) {
    fuzz::require(error.what()[0] != '\0', "an error says something");
  }
  return 0;
}
