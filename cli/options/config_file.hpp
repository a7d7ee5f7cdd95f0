#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace magva::options {

/// A configuration file as one JSON object, key to value: JSON, or lines `key = value` (INI, TOML). The
/// fit.json of an earlier fit gives that fit's options. Throws IoError or DataError.
nlohmann::json read_config(const std::string& path);

}  // namespace magva::options
