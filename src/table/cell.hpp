#pragma once
// What the text of one cell means.
#include <string_view>

namespace magva::input {

enum class CellKind { missing, number, not_finite, text };

struct Cell {
  CellKind kind;
  double value;  ///< of a number; NaN otherwise
};

/// Spaces around the text do not count. Missing is one of: nothing at all, NA, N/A, n/a, #N/A, NaN, nan, NAN,
/// NULL, null, None, ?, . (exactly these letters). A number is what C's strtod reads in decimal, with '.' for
/// the point; one that is infinite, by name or by size, or a NaN with a sign, is `not_finite`.
Cell read_cell(std::string_view text);

std::string_view trim(std::string_view text);

}  // namespace magva::input
