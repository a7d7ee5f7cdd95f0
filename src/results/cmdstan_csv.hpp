#pragma once
// Draws as CmdStan writes them.
#include <filesystem>
#include <string>

#include "results/draws.hpp"

namespace magva::results {

/// A name as CmdStan's files have it: Sigma[1,2] is Sigma.1.2, pair.1[3] is pair:1.3.
std::string cmdstan_name(const std::string& name);

/// A head of comments, the columns lp__, log_p__, log_g__ and the names, then a line a draw with enough
/// digits to give the same numbers back. Every line is a draw: the head says `method = pathfinder`, the only
/// variational method whose files readers take so (they drop the first line of `method = variational`, where
/// CmdStan puts the mean).
void write_cmdstan_csv(const std::filesystem::path& file, const Draws& draws, const Origin& origin);

}  // namespace magva::results
