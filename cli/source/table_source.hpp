#pragma once
#include <memory>

#include "source/model_source.hpp"

namespace magva::source {

/// A regression on the rows of a table.
std::unique_ptr<ModelSource> make_table_source(const options::Values& values);

}  // namespace magva::source
