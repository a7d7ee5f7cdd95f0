// A formula that anybody may have typed: refused with a sentence that points into it, or learnt from a table
// such that it survives JSON; and a stored formula that something damaged.
#include <nlohmann/json.hpp>

#include "magva/formula_design.hpp"
#include "round_trip.hpp"
#include "table/read_table.hpp"

using namespace magva;
using table::fuzz::require;

namespace {

table::Table table_of(std::string_view text) {
  table::MemorySource bytes(text);
  return table::read_table(bytes, "fuzz.csv");
}

void check_spec(const formula::FormulaSpec& spec, const table::Table& table) {
  const auto written = formula::to_json(spec);
  require(formula::to_json(formula::formula_spec_from_json(written)) == written, "a formula survives JSON");
  const auto rows = formula::encode(spec, table, table::MissingPolicy::drop);
  require(rows.x.cols() == static_cast<Index>(spec.names().size()) + spec.smooth_columns(),
          "every column has a name");
}

void learn(const std::string& text, const table::Table& table) {
  formula::LearnOptions options;
  options.formula = text;
  options.missing = table::MissingPolicy::drop;
  check_spec(formula::learn(table, options).spec, table);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const table::Table table =
      table_of("y,x,g,n\n1,1,a,3\n2,2,b,4\n3,4,a,5\n5,3,b,6\n4,7,a,\n7,5,b,9\n");
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    if (const auto json = nlohmann::json::parse(text, nullptr, false); json.is_object())
      check_spec(formula::formula_spec_from_json(json), table);
    else
      learn(text, table);
  } catch (const formula::FormulaError& error) {
    require(error.position() <= error.text().size() && !error.pointer().empty(),
            "an error points into the formula");
  } catch (const magva::Error& error) {
    require(error.what()[0] != '\0', "an error says something");
  }
  return 0;
}
