// The Gaussian that a fit gives.
#include <nanobind/eigen/dense.h>
#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "magva/diagnostics.hpp"
#include "magva/posterior.hpp"

namespace magva::python {

namespace {

using ColumnsIn = const nb::DRef<const Matrix>&;

}  // namespace

void bind_gaussian(nb::module_& module) {
  nb::class_<Gaussian>(module, "Gaussian")
      .def_prop_ro("dimension", &Gaussian::dimension)
      .def_prop_ro("kind", [](const Gaussian& self) { return std::string(to_string(self.kind())); })
      .def_prop_ro("rank", &Gaussian::rank)
      .def_prop_ro("corrected", &Gaussian::corrected, nb::rv_policy::reference_internal)
      .def("mean", [](const Gaussian& self) { return Vector(self.mean()); })
      .def("sd", &Gaussian::sd)
      .def("factors", [](const Gaussian& self) { return Matrix(self.factors()); })
      .def("residual_sd", [](const Gaussian& self) { return Vector(self.residual_sd()); })
      .def("covariance_row", &Gaussian::covariance_row, nb::arg("i"))
      .def("factor_shares", &Gaussian::factor_shares)
      .def("draws", &Gaussian::draws, nb::arg("count"), nb::arg("seed"), nb::arg("first"),
           nb::call_guard<nb::gil_scoped_release>())
      .def(
          "log_density",
          [](const Gaussian& self, ColumnsIn theta) { return self.log_density(Matrix(theta)); },
          nb::arg("theta"));
  module.def("kl_divergence", &kl_divergence, nb::arg("a"), nb::arg("b"));
  module.def("describe_khat", &describe_khat, nb::arg("khat"));
}

}  // namespace magva::python
