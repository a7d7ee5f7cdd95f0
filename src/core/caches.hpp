#pragma once
// How large the processor's data caches are. They decide how much is done at a time and what is prefetched,
// never the order of a sum: results have the same bits on machines with other caches.
#include "magva/types.hpp"

namespace magva::detail {

struct CacheSizes {
  Index first;   ///< bytes of a core's first level
  Index second;  ///< bytes of a core's second level
  Index last;    ///< bytes that a core may count on in the last level, which others share
};

/// Of this machine: from the C library, else from /sys, else what processors have had for a decade at least.
const CacheSizes& cache_sizes();

}  // namespace magva::detail
