// Tables of Python, column by column.
#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>
#include <unordered_map>

#include "bindings.hpp"
#include "magva/error.hpp"
#include "table/column_builder.hpp"
#include "table/message.hpp"
#include "table_builder.hpp"

namespace magva::python {

namespace {

using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Codes = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Columns = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

table::Column& add_column(table::Table& table, std::string name, table::ColumnKind kind, std::size_t rows) {
  if (table.find(name) != nullptr)
    throw DataError(fmt::format("{} has two columns '{}': rename one", table.source, name));
  if (table.columns.empty()) table.rows = static_cast<Index>(rows);
  table::Column& column = table.columns.emplace_back();
  column.name = std::move(name);
  column.kind = kind;
  return column;
}

void add_numbers(table::Table& table, std::string name, const Numbers& values) {
  table::Column& column = add_column(table, std::move(name), table::ColumnKind::number, values.shape(0));
  double* out = column.values.extend(static_cast<Index>(values.shape(0)));
  for (std::size_t i = 0; i < values.shape(0); ++i) {
    if (std::isinf(values.data()[i]))
      throw DataError(
          fmt::format("{}, row {}, column '{}': {} is not a finite number; correct it, or make it missing "
                      "and drop missing values",
                      table.source, i + 1, column.name, values.data()[i]));
    out[i] = values.data()[i];
  }
}

// As the reader of files does: spaces around a text do not count, NA and its like are missing, and levels are
// in the order of their first appearance.
void add_text(table::Table& table, std::string name, const Codes& codes,
              const std::vector<std::string>& levels) {
  table::Column& column = add_column(table, std::move(name), table::ColumnKind::text, codes.shape(0));
  std::vector<double> numbers(levels.size(), -1);
  std::unordered_map<std::string, double> known;
  const auto number_of = [&](std::size_t code) {
    const std::string text(table::trim(levels[code]));
    if (table::read_cell(text).kind == table::CellKind::missing) return kMissing;
    const auto [found, added] = known.emplace(text, static_cast<double>(column.levels.size()));
    if (added) column.levels.push_back(text);
    return found->second;
  };
  double* out = column.values.extend(static_cast<Index>(codes.shape(0)));
  for (std::size_t i = 0; i < codes.shape(0); ++i) {
    const std::int64_t code = codes.data()[i];
    if (code < 0) {
      out[i] = kMissing;
      continue;
    }
    double& number = numbers.at(static_cast<std::size_t>(code));
    if (number < 0) number = number_of(static_cast<std::size_t>(code));
    out[i] = number;
  }
}

void set_features(table::Table& table, const Codes& starts, const Columns& columns, const Numbers& values,
                  Index cols) {
  const auto rows = static_cast<Index>(starts.shape(0)) - 1;
  std::vector<Eigen::Triplet<double>> entries;
  entries.reserve(values.shape(0));
  for (Index i = 0; i < rows; ++i)
    for (std::int64_t k = starts.data()[i]; k < starts.data()[i + 1]; ++k) {
      if (!std::isfinite(values.data()[k]))
        throw DataError(fmt::format("{}, row {}: feature {} is not a finite number", table.source, i + 1,
                                    table::feature_name(columns.data()[k] + 1)));
      entries.emplace_back(i, columns.data()[k], values.data()[k]);
    }
  table.features.emplace(rows, cols);
  table.features->setFromTriplets(entries.begin(), entries.end());
}

}  // namespace

void bind_table(nb::module_& module) {
  nb::class_<TableBuilder>(module, "Table")
      .def(nb::init<std::string>(), nb::arg("source"))
      .def(
          "add_numbers",
          [](TableBuilder& self, std::string name, const Numbers& values) {
            add_numbers(self.table, std::move(name), values);
          },
          nb::arg("name"), nb::arg("values").noconvert())
      .def(
          "add_text",
          [](TableBuilder& self, std::string name, const Codes& codes,
             const std::vector<std::string>& levels) {
            add_text(self.table, std::move(name), codes, levels);
          },
          nb::arg("name"), nb::arg("codes").noconvert(), nb::arg("levels"))
      .def(
          "set_features",
          [](TableBuilder& self, const Codes& starts, const Columns& columns, const Numbers& values,
             Index cols) { set_features(self.table, starts, columns, values, cols); },
          nb::arg("starts").noconvert(), nb::arg("columns").noconvert(), nb::arg("values").noconvert(),
          nb::arg("cols"))
      .def("set_sha256",
           [](TableBuilder& self, std::string sha256) { self.table.sha256 = std::move(sha256); })
      .def_prop_ro("names", [](const TableBuilder& self) { return self.table.names(); })
      .def_prop_ro("rows", [](const TableBuilder& self) { return self.table.rows; });
}

}  // namespace magva::python
