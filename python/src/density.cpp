#include "density.hpp"

#include <nanobind/eigen/dense.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include "core/lines.hpp"
#include "magva/error.hpp"

namespace magva::python {

namespace {

using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A copy, which the function may keep: the engine's own memory goes away.
nb::object call(const nb::object& function, ConstMatrixRef theta) {
  return function(nb::cast(Matrix(theta), nb::rv_policy::move));
}

Eigen::Map<const Matrix> columns(const Rows& rows) {
  return {rows.data(), static_cast<Index>(rows.shape(1)), static_cast<Index>(rows.shape(0))};
}

}  // namespace

void PythonDensity::evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                             Evaluation&) const {
  const nb::gil_scoped_acquire gil;
  const auto [values, gradients] = nb::cast<std::pair<Values, Rows>>(call(function_, theta));
  log_density = Eigen::Map<const Vector>(values.data(), theta.cols());
  gradient = columns(gradients);
}

bool PythonDensity::evaluate_lines(ConstVectorRef centre, ConstMatrixRef directions, ConstVectorRef steps,
                                   MatrixRef log_density, Evaluation&) const {
  const nb::gil_scoped_acquire gil;
  if (values_.is_none()) return false;
  const auto values = nb::cast<Values>(call(values_, points_on_lines(centre, directions, steps)));
  log_density = Eigen::Map<const Matrix>(values.data(), steps.size(), directions.cols());
  return true;
}

std::vector<source::Quantity> PythonReporter::quantities() const {
  std::vector<source::Quantity> all;
  for (const auto& name : names_) all.push_back({name, std::nullopt});
  return all;
}

Matrix PythonReporter::report(ConstMatrixRef theta, std::uint64_t) const {
  const nb::gil_scoped_acquire gil;
  return columns(nb::cast<Rows>(call(function_, theta)));
}

void StoredCoordinates::evaluate(ConstMatrixRef, VectorRef, MatrixRef, Evaluation&) const {
  throw UsageError("the fit was loaded without its model and data: its log density is not known here");
}

}  // namespace magva::python
