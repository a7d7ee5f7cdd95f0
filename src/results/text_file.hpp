#pragma once
// Small files of text, read whole and written whole or not at all.
#include <filesystem>
#include <functional>
#include <ostream>
#include <string>

namespace magva::results {

/// IoError where it cannot be read.
std::string read_text(const std::filesystem::path& path);

/// Calls `fill` with a stream to a temporary file beside `path`, which takes its name when all is on disk.
/// Throws IoError, and leaves nothing behind, where that fails.
void write_text(const std::filesystem::path& path, const std::function<void(std::ostream&)>& fill);

}  // namespace magva::results
