#pragma once
// Memory for matrices that every step sweeps over. Where they are large, the operating system is asked for
// huge pages: with small ones a sweep waits for addresses to be translated as much as for numbers.
#include <cstddef>

#include "magva/types.hpp"

namespace magva {

/// Not yet touched, and so not yet in memory.
Matrix huge_page_matrix(Index rows, Index cols);
Matrix huge_page_zeros(Index rows, Index cols);

/// For numbers that are in memory already; they keep their addresses.
void move_to_huge_pages(const void* from, std::size_t bytes);

}  // namespace magva
