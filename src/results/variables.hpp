#pragma once
// Scalar names back into the arrays they are elements of.
#include <string>
#include <vector>

#include "magva/types.hpp"

namespace magva::results {

/// An array of the model: its shape, and for each element, last index fastest, the row that holds it.
struct Variable {
  std::string name;
  std::vector<std::size_t> shape;  ///< empty for a scalar
  std::vector<Index> rows;
};

/// In the order in which their first elements come. Names whose indices are not whole numbers from 1, or that
/// leave gaps in an array, stay scalars under their full names. The parts of complex numbers become z.real
/// and z.imag.
std::vector<Variable> group_variables(const std::vector<std::string>& names);

}  // namespace magva::results
