#pragma once
// The names of quantities in the files of other programs, and the arrays that they are elements of.
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

/// A name as CmdStan's files have it: Sigma[1,2] is Sigma.1.2, pair.1[3] is pair:1.3.
std::string cmdstan_name(const std::string& name);

/// Names that NetCDF allows: they start with a letter, digit or underscore and have no slash. (Intercept)
/// becomes Intercept; no two become the same.
std::vector<std::string> netcdf_names(std::vector<std::string> names);

}  // namespace magva::results
