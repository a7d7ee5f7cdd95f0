#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "options/values.hpp"

namespace magva::options {

/// A configuration file as one JSON object, key to value: JSON, or lines `key = value` (INI, TOML). The
/// fit.json of an earlier fit gives that fit's options. Throws IoError or DataError.
nlohmann::json read_config(const std::string& path);
/// The same of its text.
nlohmann::json parse_config(const std::string& text, const std::string& path);

/// The values of one command from the words after its name. Throws UsageError with every fault that can be
/// told, misspelt options with the nearest name. `wants_help` is set if --help was among them.
Values parse(const Command& command, const std::vector<std::string>& words, bool& wants_help);

/// The command that is called `word`; UsageError with the nearest name if there is none.
const Command& find_command(const Program& program, const std::string& word);

}  // namespace magva::options
