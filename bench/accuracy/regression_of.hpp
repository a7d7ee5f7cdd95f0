#pragma once
// A Glm as one of the engine's own regressions, whose expectations the engine knows: the oracle and what it
// judges have nothing in common but the data.
#include <memory>

#include "glm.hpp"

namespace magva::bench {

std::unique_ptr<Model> regression_of(const Glm& glm);

}  // namespace magva::bench
