#pragma once

namespace magva {

/// The standard normal quantile of a probability between 0 and 1.
double normal_quantile(double probability);

}  // namespace magva
