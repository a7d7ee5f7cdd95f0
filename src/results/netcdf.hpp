#pragma once
// Draws as an InferenceData file: NetCDF-4 with the groups that ArviZ reads.
#include <filesystem>

#include "results/draws.hpp"

namespace magva::results {

/// Groups posterior (one variable an array of the model, dimensions chain, draw and its own) and sample_stats
/// (lp, log_p, log_g), one chain.
void write_netcdf(const std::filesystem::path& file, const Draws& draws, const Origin& origin);

}  // namespace magva::results
