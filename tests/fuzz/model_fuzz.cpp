// model.json of a fit folder, from a stranger who knows how to make a checksum: refused with a sentence, or a
// model that says the same when it is written again.
#include <nlohmann/json.hpp>

#include "magva/error.hpp"
#include "round_trip.hpp"
#include "source/model_spec.hpp"

using namespace magva;
using table::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto json = nlohmann::json::parse(data, data + size, nullptr, false);
  if (json.is_discarded()) return 0;
  try {
    const auto written = source::to_json(source::model_spec_from_json(json, "model.json"));
    require(source::to_json(source::model_spec_from_json(written, "model.json")) == written,
            "a model survives its file");
  } catch (const magva::Error& error) {
    require(error.what()[0] != '\0', "an error says something");
  }
  return 0;
}
