#pragma once
#include "options/values.hpp"
#include "results/fit_record.hpp"

namespace magva::commands {

/// The arguments and options of `magva fit` with which a recorded fit was made.
options::Values recorded_values(const results::FitRecord& record);

}  // namespace magva::commands
