#pragma once
// Stored fits together with their model and data again: for log densities, and for draws that importance
// weights have corrected.
#include <vector>

#include "magva/fit_folder.hpp"
#include "magva/model_source.hpp"
#include "options/option_spec.hpp"
#include "options/values.hpp"

namespace magva::commands {

bool is_stan_fit(const results::StoredFit& fit);

/// The model with its data, which must be those of the fit.
source::ModelSource source_of(const results::StoredFit& fit, const options::Values& values);

/// --data-file and --stan-model: what source_of() needs to know.
std::vector<options::OptionSpec> source_options();

/// --correct, for a command that then shows `what`.
options::OptionSpec correct_option(const std::string& what);

/// Draws of the fit's posterior for summaries and predictions, corrected by importance weights. Throws
/// DataError, which says why, where these allow no correction.
Matrix corrected_draws(const results::StoredFit& fit, const options::Values& values, Index count,
                       std::uint64_t seed);

}  // namespace magva::commands
