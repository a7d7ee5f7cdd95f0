// The texts of a fit folder, from a stranger who knows how to make a checksum: fit.json, check.json and the
// trace of a checkpoint are refused with a sentence, or survive being written again.
#include "magva/error.hpp"
#include "magva/stored_check.hpp"
#include "results/record_file.hpp"
#include "round_trip.hpp"

using namespace magva;
using table::fuzz::require;

namespace {

void read_record(const std::string& text) {
  const auto record = results::parse_record(results::with_checksum(text), "fit.json");
  const std::string written = results::record_text(record);
  require(results::record_text(results::parse_record(written, "fit.json")) == written,
          "a record survives its file");
}

void read_check(const std::string& text) {
  const auto stored = results::parse_check(text, "check.json");
  const auto ranked = results::rank_models({{"a", stored}, {"b", stored}});
  require(ranked.size() == 2, "a check can be compared");
}

void read_trace(const std::string& bytes) {
  results::Trace trace;
  trace.restore(bytes);
  require(trace.to_bytes() == bytes, "a trace survives its bytes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  try {
    switch (data[0] % 3) {
      case 0:
        read_record(text);
        break;
      case 1:
        read_check(text);
        break;
      default:
        read_trace(text);
    }
  } catch (const magva::Error& error) {
    require(error.what()[0] != '\0', "an error says something");
  }
  return 0;
}
