#pragma once
// Texts and numbers as files and people read them.
#include <string>

namespace magva::results {

/// A text as a CSV cell (RFC 4180): quoted if it must be.
std::string csv_text(const std::string& text);

/// An ELBO with `decimals` places; six digits and an exponent when a fixed notation would pretend to know
/// more.
std::string elbo_text(double elbo, int decimals);

}  // namespace magva::results
