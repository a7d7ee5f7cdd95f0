#include "round_trip.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "magva/error.hpp"
#include "table/design_spec.hpp"

namespace magva::table::fuzz {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void check_table(const Table& table) {
  require(table.rows > 0 && !table.columns.empty(), "a table has rows and columns");
  for (const Column& column : table.columns) {
    require(column.values.size() == table.rows, "every column has all rows");
    require(!column.name.empty(), "every column has a name");
    for (Index row = 0; row < table.rows; ++row) {
      if (column.missing(row)) continue;
      require(std::isfinite(column.values[row]), "numbers are finite");
      const bool text = column.kind == ColumnKind::text;
      require(!text || column.values[row] < static_cast<double>(column.levels.size()), "texts are levels");
    }
  }
  for (Index row = 1; row < table.rows; ++row)
    require(table.lines.line_of(row) > table.lines.line_of(row - 1), "lines increase");
}

namespace {
void check_round_trip(const Table& table, const DesignOptions& options) {
  const LearntDesign learnt = learn_design(table, options);
  const EncodedRows& design = learnt.design;
  const std::string written = to_json(learnt.spec).dump();
  const DesignSpec back = design_spec_from_json(nlohmann::json::parse(written));
  require(to_json(back).dump() == written, "a specification survives JSON");
  const EncodedRows again = encode(back, table, options.missing);
  require(again.names == design.names, "names survive");
  require(again.x == design.x && design.x.allFinite(), "the design survives and is finite");
  require(Matrix(again.sparse_x) == Matrix(design.sparse_x), "the sparse design survives");
  require(again.y == design.y && design.y.allFinite(), "the response survives and is finite");
}
}  // namespace

void check_design(const Table& table, unsigned choice) {
  constexpr std::array kKinds = {ResponseKind::binary, ResponseKind::real, ResponseKind::count};
  DesignOptions options;
  options.response = table.columns.front().name;
  options.kind = kKinds[choice % kKinds.size()];
  options.missing = MissingPolicy::drop;
  options.standardise = options.kind == ResponseKind::real;
  const bool discretised = options.kind == ResponseKind::binary && !table.features;
  options.discretise = discretised ? Discretise::mdlp : Discretise::none;
  try {
    check_round_trip(table, options);
  } catch (const Error& error) {
    require(error.what()[0] != '\0', "an error says something");
  }
}

}  // namespace magva::table::fuzz
