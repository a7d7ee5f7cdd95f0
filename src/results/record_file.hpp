#pragma once
// The text of fit.json, apart from its file.
#include <filesystem>
#include <string>

#include "magva/fit_folder.hpp"

namespace magva::results {

/// The end of a record, with the checksum of what comes before it.
std::string with_checksum(const std::string& begin);
std::string record_text(const FitRecord& record);
/// DataError, naming `path`, if it is not as record_text() gave it.
FitRecord parse_record(const std::string& text, const std::filesystem::path& path);

}  // namespace magva::results
