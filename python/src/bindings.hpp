#pragma once
#include <nanobind/nanobind.h>

namespace magva::python {

namespace nb = nanobind;

void bind_table(nb::module_& module);
void bind_options(nb::module_& module);
void bind_gaussian(nb::module_& module);
void bind_fit(nb::module_& module);

}  // namespace magva::python
