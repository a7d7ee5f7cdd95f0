#pragma once
// Texts and numbers as files and people read them.
#include <string>
#include <string_view>

namespace magva::results {

/// A text as a CSV cell (RFC 4180): quoted if it must be.
std::string csv_text(const std::string& text);

/// A text that comes from data or a file, for a terminal or a page: control characters, which could move the
/// cursor or change what was shown before, are written as \x1b, \u009b and so on.
std::string printable(std::string_view text);

/// An ELBO with `decimals` places; six digits and an exponent when a fixed notation would pretend to know
/// more.
std::string elbo_text(double elbo, int decimals);

}  // namespace magva::results
