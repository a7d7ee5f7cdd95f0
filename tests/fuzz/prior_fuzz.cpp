// A prior that anybody may have typed: refused with a sentence, or one that a model can have.
#include "magva/error.hpp"
#include "magva/formula_model.hpp"
#include "round_trip.hpp"
#include "table/read_table.hpp"

using namespace magva;
using table::fuzz::require;

namespace {

table::Table table_of(std::string_view text) {
  table::MemorySource bytes(text);
  return table::read_table(bytes, "fuzz.csv");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const table::Table table =
      table_of("y,x,g,n\n1,1,a,3\n2,2,b,4\n3,4,a,5\n5,3,b,6\n4,7,c,1\n7,5,c,9\n");
  source::FormulaOptions options;
  options.formula = "y ~ x + n + (1 | g)";
  options.priors = {std::string(reinterpret_cast<const char*>(data), size)};
  try {
    const auto source = source::make_formula_source(table, options);
    require(source.model->dimension() > 0, "a model has parameters");
  } catch (const magva::Error& error) {
    require(error.what()[0] != '\0', "an error says something");
  }
  return 0;
}
