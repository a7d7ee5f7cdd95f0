// A configuration file that anybody may have written: refused with a sentence, or an object of values.
#include <nlohmann/json.hpp>

#include "magva/error.hpp"
#include "options/parse.hpp"
#include "round_trip.hpp"

using magva::table::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  try {
    const auto values = magva::options::parse_config({reinterpret_cast<const char*>(data), size}, "c.toml");
    require(values.is_object(), "a configuration is an object");
  } catch (const magva::Error& error) {
    require(error.what()[0] != '\0', "an error says something");
  }
  return 0;
}
