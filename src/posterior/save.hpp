#pragma once
// A Gaussian as part of a larger file, kept to the bit.
#include "core/checksummed_file.hpp"
#include "magva/posterior.hpp"

namespace magva {

void write_gaussian(io::ChecksummedWriter& out, const Gaussian& gaussian);
/// DataError if its parts do not fit each other.
Gaussian read_gaussian(io::ChecksummedReader& in);

inline constexpr const char* kPosteriorKind = "posterior";
inline constexpr int kPosteriorVersion = 2;
/// All of a posterior's file. Throws DataError.
SavedPosterior read_posterior(io::ChecksummedReader& in);

}  // namespace magva
