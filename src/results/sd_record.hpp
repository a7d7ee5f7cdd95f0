#pragma once
// What fit.json says about sds that were corrected or estimated one by one.
#include "magva/fit_folder.hpp"
#include "magva/sd_for.hpp"

namespace magva::results {

/// Into the complete record of a result that correct_sds() has corrected. Estimates take the place of the
/// Gaussian's sds in quantities that are its coordinates.
void add_sd_correction(const SdCorrection& correction, const source::Reporter& reporter, FitRecord& record);

}  // namespace magva::results
