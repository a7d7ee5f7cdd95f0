#pragma once
// Draws from a fitted posterior, on the user's scale, and the files that other programs read them from.
#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "magva/model_source.hpp"
#include "magva/posterior.hpp"

namespace magva::results {

struct Draws {
  std::vector<std::string> names;  ///< as Stan writes them: mu, theta[3], Sigma[1,2]
  Matrix values;                   ///< one row per name, one column per draw
  Vector log_p;                    ///< the model's log density with its constants, per draw; or empty
  Vector log_q;                    ///< the normalised log density of the approximation; or empty

  Index size() const { return values.cols(); }
};

/// What the reporter says of draws of theta, one column per draw.
Draws take_draws(const source::Reporter& reporter, const Matrix& theta, std::uint64_t seed);
/// The same with log densities, for which the model is evaluated.
Draws take_draws(const source::ModelSource& source, const Posterior& posterior, const Matrix& theta,
                 std::uint64_t seed);

/// Where draws come from, for the head of a file.
struct Origin {
  std::string model;
  std::uint64_t seed = 0;
  std::string family;  ///< the approximating family
};

/// A line with the names, then one line per draw; log_q and log_p first if there are log densities.
void write_csv(std::ostream& out, const Draws& draws);

/// A head of comments, the columns lp__, log_p__, log_g__ and the names, then one line per draw with enough
/// digits to give the same numbers back. Every line is a draw: the head says `method = pathfinder`, the only
/// variational method whose files readers take so (they drop the first line of `method = variational`, where
/// CmdStan puts the mean).
void write_cmdstan_csv(const std::filesystem::path& file, const Draws& draws, const Origin& origin);

/// An InferenceData file, NetCDF-4 with the groups that ArviZ reads: posterior (one variable per array of the
/// model, dimensions chain, draw and its own) and sample_stats (lp, log_p, log_q), one chain.
void write_netcdf(const std::filesystem::path& file, const Draws& draws, const Origin& origin);

/// Whether a file is one that write_netcdf() wrote.
bool is_netcdf_of_draws(const std::filesystem::path& file);

}  // namespace magva::results
