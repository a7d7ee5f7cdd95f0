#pragma once
// A log density that is a Python function, and quantities that a Python function makes of draws.
#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "magva/model_source.hpp"

namespace magva::python {

namespace nb = nanobind;

/// `function` takes draws as an array (m, S) and returns values (S) and gradients (S, m), both C-contiguous
/// doubles: magva/_density.py makes such a function of what a user gives. What it raises passes through the
/// engine unchanged. `values`, which may be None, returns the values alone, and takes less time.
class PythonDensity final : public Model {
 public:
  PythonDensity(nb::object function, nb::object values, std::vector<std::string> names)
      : function_(std::move(function)), values_(std::move(values)), names_(std::move(names)) {}

  Index dimension() const override { return static_cast<Index>(names_.size()); }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override;
  bool evaluate_lines(ConstVectorRef centre, ConstMatrixRef directions, ConstVectorRef steps,
                      MatrixRef log_density, Evaluation& evaluation) const override;
  std::string parameter_name(Index i) const override { return names_[static_cast<std::size_t>(i)]; }

 private:
  nb::object function_;
  nb::object values_;
  std::vector<std::string> names_;
};

/// `function` takes draws as an array (m, S) and returns the quantities as an array (S, q).
class PythonReporter final : public source::Reporter {
 public:
  PythonReporter(nb::object function, std::vector<std::string> names)
      : function_(std::move(function)), names_(std::move(names)) {}

  std::vector<source::Quantity> quantities() const override;
  Matrix report(ConstMatrixRef theta, std::uint64_t seed) const override;

 private:
  nb::object function_;
  std::vector<std::string> names_;
};

/// The names of a posterior whose data are not here: it can be reported and stored, not evaluated.
class StoredCoordinates final : public Model {
 public:
  explicit StoredCoordinates(std::vector<std::string> names) : names_(std::move(names)) {}

  Index dimension() const override { return static_cast<Index>(names_.size()); }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override;
  std::string parameter_name(Index i) const override { return names_[static_cast<std::size_t>(i)]; }

 private:
  std::vector<std::string> names_;
};

}  // namespace magva::python
