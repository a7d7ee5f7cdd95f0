#pragma once
#include <memory>

#include "source/model_source.hpp"

namespace magva::source {

/// A regression on the rows of a design file, which stay on disk until they are read.
std::unique_ptr<ModelSource> make_design_source(const options::Values& values);

}  // namespace magva::source
