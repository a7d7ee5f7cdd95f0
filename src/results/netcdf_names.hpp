#pragma once
#include <string>
#include <vector>

namespace magva::results {

/// Names that NetCDF allows: they start with a letter, digit or underscore and have no slash. (Intercept)
/// becomes Intercept; no two become the same.
std::vector<std::string> netcdf_names(std::vector<std::string> names);

}  // namespace magva::results
