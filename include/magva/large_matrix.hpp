#pragma once
// Memory for tall matrices that every step sweeps over. Where they are large, the operating system is asked
// for large pages: with small ones a sweep waits for addresses to be translated as much as for numbers.
#include "magva/types.hpp"

namespace magva {

/// Not yet touched, and so not yet in memory.
Matrix large_matrix(Index rows, Index cols);
Matrix large_zeros(Index rows, Index cols);

}  // namespace magva
