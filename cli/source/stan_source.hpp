#pragma once
#include <memory>
#include <string>

#include "source/model_source.hpp"

namespace magva::source {

/// Whether a file is a Stan program or a library made of one, by its name.
bool is_stan_file(const std::string& file);

/// The posterior of a Stan program with the data of --data.
std::unique_ptr<ModelSource> make_stan_source(const options::Values& values);

}  // namespace magva::source
