#pragma once
// A table whose rows the ranks of a job share: each reads some of its files, or some rows of its file.
#include <cstdint>
#include <string>
#include <vector>

#include "magva/table.hpp"
#include "table/table_ranks.hpp"

namespace magva::table {

/// A rank's rows, consecutive ones, in the order of the ranks. Columns, their kinds and their levels are
/// those that one reader of the whole table finds.
struct TableShare {
  Table rows;
  TableRanks ranks;  ///< that have the others; alone if this one has all
  Index rows_of_all = 0;
};

/// A table that this process has whole.
TableShare whole_share(Table table);

/// Called on all ranks with the same pattern or path, of files that all of them see. Of several files each
/// rank reads its own; one file all ranks read through, and each keeps some of its rows. A LIBSVM file every
/// rank reads whole. A fault in one rank's rows is thrown by all, as one reader would say it. The digest, if
/// it is asked for, is the leader's alone to know.
TableShare read_shared(const std::string& path, const ReadOptions& options, const TableRanks& ranks);

/// Which of so many files, of these sizes in bytes, a rank reads: consecutive ones, about as many bytes each.
Range files_of_rank(const std::vector<std::uint64_t>& sizes, int rank, int size);

}  // namespace magva::table
