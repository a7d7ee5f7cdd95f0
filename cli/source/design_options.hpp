#pragma once
#include <string>

#include "options/values.hpp"
#include "table/design.hpp"
#include "table/design_file_header.hpp"

namespace magva::source {

/// How the options of a command say that a table becomes a design.
input::DesignOptions design_options(const options::Values& values, const std::string& response);

input::MissingPolicy missing_policy(const options::Values& values);

/// What a model's response is.
input::ResponseKind response_kind(const std::string& model);
/// The regression for a response of this kind.
std::string model_for(input::ResponseKind kind);

design_file::Element element(const options::Values& values);

}  // namespace magva::source
