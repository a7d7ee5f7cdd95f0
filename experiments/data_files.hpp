#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "magva/table.hpp"

namespace magva::experiments {

/// The first that exists of: the given folder, MAGVA_DATA, the data folder beside the program (share/magva
/// where it is installed, data in the source tree).
std::optional<std::filesystem::path> find_data(const std::filesystem::path& folder, const std::string& file);

/// Some rows of a table, in this order.
table::Table subset(const table::Table& table, const std::vector<Index>& rows);

}  // namespace magva::experiments
