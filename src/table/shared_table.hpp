#pragma once
// A table in several files that the ranks of a job read together: each reads some of the files, and all get
// the table that one would have read from all of them.
#include <cstdint>
#include <string>
#include <vector>

#include "magva/distribute.hpp"
#include "magva/table.hpp"

namespace magva::table {

/// Called on all ranks with the same pattern or path, of files that all of them see. What cannot be shared (a
/// single file, a LIBSVM file, small files) every rank reads whole, and so do all if a rank fails: then they
/// say what one rank alone would have said. The digest, if it is asked for, is the leader's alone to know.
Table read_shared(const std::string& pattern, const ReadOptions& options, Communicator& ranks);

/// Which of so many files, of these sizes in bytes, a rank reads: consecutive ones, about as many bytes each.
Range files_of_rank(const std::vector<std::uint64_t>& sizes, int rank, int size);

}  // namespace magva::table
