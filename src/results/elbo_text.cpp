#include "results/elbo_text.hpp"

#include <fmt/format.h>

#include <cmath>

namespace magva::results {

namespace {
constexpr double kLargestFixed = 1e9;
}

std::string elbo_text(double elbo, int decimals) {
  return std::abs(elbo) < kLargestFixed ? fmt::format("{:.{}f}", elbo, decimals)
                                        : fmt::format("{:.6g}", elbo);
}

}  // namespace magva::results
