// The Gaussian that a fit gives, and what is nearer to the posterior.
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
  nb::class_<Posterior>(module, "Posterior")
      .def_prop_ro("dimension", &Posterior::dimension)
      .def_prop_ro("shape", [](const Posterior& self) { return std::string(self.shape()); })
      .def("mean", [](const Posterior& self) { return Vector(self.mean()); })
      .def("sd", &Posterior::sd)
      .def("covariance_row", &Posterior::covariance_row, nb::arg("i"))
      .def(
          "quantiles",
          [](const Posterior& self, const Vector& probabilities) { return self.quantiles(probabilities); },
          nb::arg("probabilities"))
      .def("draws", &Posterior::draws, nb::arg("count"), nb::arg("seed"), nb::arg("first"),
           nb::call_guard<nb::gil_scoped_release>())
      .def(
          "log_density",
          [](const Posterior& self, ColumnsIn theta) { return self.log_density(Matrix(theta)); },
          nb::arg("theta"));
  nb::class_<Gaussian, Posterior>(module, "Gaussian")
      .def_prop_ro("kind", [](const Gaussian& self) { return std::string(to_string(self.kind())); })
      .def_prop_ro("rank", &Gaussian::rank)
      .def_prop_ro("best", &Gaussian::best, nb::rv_policy::reference_internal)
      .def("factors", [](const Gaussian& self) { return Matrix(self.factors()); })
      .def("residual_sd", [](const Gaussian& self) { return Vector(self.residual_sd()); })
      .def("factor_shares", &Gaussian::factor_shares);
  module.def("kl_divergence", &kl_divergence, nb::arg("a"), nb::arg("b"));
}

}  // namespace magva::python
