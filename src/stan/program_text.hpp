#pragma once
// A Stan program and the files that it includes, as they are handed to the Stan compiler.
#include <filesystem>
#include <string>
#include <vector>

namespace magva::stan {

struct ProgramFile {
  std::string name;  ///< letters, digits and underscores, then .stan: safe for make and the Stan compiler
  std::string text;
};

/// The program first, then each file that it includes, directly or not. Include lines name the files by their
/// new names; every other line is as it was, so that the compiler's line numbers hold. Included files are
/// looked for beside the program. Throws IoError for a file that cannot be read, DataError for one that
/// includes itself.
std::vector<ProgramFile> read_program(const std::filesystem::path& file);

}  // namespace magva::stan
