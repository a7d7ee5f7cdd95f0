#pragma once
// The encoding of a table as JSON: part of a fit's model.json and of a design file's header.
#include <nlohmann/json_fwd.hpp>

#include "magva/table.hpp"

namespace magva::table {

nlohmann::json to_json(const DesignSpec& spec);
/// Throws DataError if the JSON is not a specification that `to_json` can have written.
DesignSpec design_spec_from_json(const nlohmann::json& json);

}  // namespace magva::table
