#pragma once
// An ELBO for people to read.
#include <string>

namespace magva::results {

/// With `decimals` places; six digits and an exponent where a fixed notation would pretend to know more.
std::string elbo_text(double elbo, int decimals);

}  // namespace magva::results
