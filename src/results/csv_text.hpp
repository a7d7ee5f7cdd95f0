#pragma once
#include <string>

namespace magva::results {

/// A text as a CSV cell (RFC 4180): quoted where it must be.
std::string csv_text(const std::string& text);

}  // namespace magva::results
