#pragma once
// What fit.json says about sds that were asked for by name.
#include <fmt/format.h>

#include "magva/fit_folder.hpp"
#include "magva/sd_for.hpp"

namespace magva::results {

/// Into the record of a result that correct_sds() has corrected.
inline void add_sd_correction(const SdCorrection& correction, FitRecord& record) {
  if (!correction.parameters.empty()) {
    record.details["sd_for"] = correction.parameters;
    record.details["sd_se"] = correction.se;
  }
  for (const std::string& name : correction.failed)
    record.notes.push_back(fmt::format(
        "the sd of '{}' was asked for and is that of the approximation: linear response has none", name));
}

}  // namespace magva::results
