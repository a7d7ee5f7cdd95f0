#pragma once
// What a fit says about rows of data: its own, and new ones.
#include "bindings.hpp"
#include "fit.hpp"

namespace magva::python {

void bind_rows(nb::module_& module, nb::class_<Fit>& type);

}  // namespace magva::python
