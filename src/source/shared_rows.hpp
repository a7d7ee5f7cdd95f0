#pragma once
// The encoded rows of a table that ranks have read: from those that a rank has read to those that it sums
// over.
#include <functional>

#include "magva/regression.hpp"
#include "source/default_priors.hpp"
#include "table/table_ranks.hpp"

namespace magva::source {

/// A design on the rows of all ranks, as one of them sees it.
struct SharedDesign {
  Design design;         ///< zeros, which take no memory, in rows that are not kept
  Range share;           ///< the rows of rows_of_rank(), which are kept
  bool has_all = false;  ///< all are kept: by a process alone, and by the leader if there are few
};

/// Gives each rank its share of all rows, of which `own` are those that it has read. The leader keeps all if
/// they are few enough to be looked at one by one when the fit is assessed. Throws DataError at an entry that
/// is not finite, UsageError if there are more ranks than rows can be shared among.
SharedDesign share_design(RowMatrix own, const table::TableRanks& ranks);
SharedDesign share_design(SingleRowMatrix own, const table::TableRanks& ranks);

/// Of the rows of all ranks.
DesignMoments design_moments(const SharedDesign& shared, const table::TableRanks& ranks);

/// All rows in their order, some at a time, on all ranks.
void for_each_piece(const table::EncodedRows& own, const table::TableRanks& ranks,
                    const std::function<void(const table::EncodedRows&)>& use);

}  // namespace magva::source
