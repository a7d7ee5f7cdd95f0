// The table of options, for checks and for documentation.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings.hpp"
#include "commands/fit_options.hpp"
#include "options.hpp"
#include "options/option_spec.hpp"
#include "table/message.hpp"

namespace magva::python {

namespace {

const char* type_name(options::ValueKind kind) {
  switch (kind) {
    case options::ValueKind::flag:
      return "bool";
    case options::ValueKind::integer:
      return "int";
    case options::ValueKind::number:
      return "float";
    default:
      return "str";
  }
}

nb::dict describe(const options::OptionSpec& option, const std::string& group) {
  nb::dict out;
  std::string name = option.name;
  std::replace(name.begin(), name.end(), '-', '_');
  out["name"] = name;
  out["group"] = group;
  out["type"] = type_name(option.kind);
  out["default"] = option.standard;
  out["help"] = with_keywords(option.help);
  out["choices"] = option.choices;
  out["repeatable"] = option.repeatable;
  return out;
}

nb::list option_table() {
  nb::list all;
  for (const auto& group : commands::fit_option_groups())
    for (const auto& option : group.options) all.append(describe(option, group.title));
  return all;
}

}  // namespace

void bind_options(nb::module_& module) {
  module.def("option_table", option_table);
  module.def("nearest_name", [](const std::string& wanted, const std::vector<std::string>& names) {
    return table::nearest_name(wanted, names);
  });
}

}  // namespace magva::python
