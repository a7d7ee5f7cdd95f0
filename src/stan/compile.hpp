#pragma once
// From a Stan program to a library, through BridgeStan's Makefile.
#include <filesystem>
#include <functional>
#include <string>

namespace magva::stan {

struct CompileOptions {
  std::filesystem::path bridgestan;  ///< a BridgeStan folder
  std::filesystem::path cache;       ///< where libraries are kept
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

/// BRIDGESTAN, and XDG_CACHE_HOME/magva or HOME/.cache/magva. Throws UsageError with what to do where
/// BRIDGESTAN is not set or names no BridgeStan folder.
CompileOptions compile_options_from_environment();

/// The library of a Stan program: compiled where the cache does not hold it already for this content, these
/// flags and versions. Safe for any file name and for concurrent runs. Throws DataError with the compiler's
/// message.
std::filesystem::path compile(const std::filesystem::path& program, const CompileOptions& options);

/// The library of a model file: `model` itself, or what it compiles to where its name ends in .stan.
std::filesystem::path library_of(const std::filesystem::path& model,
                                 std::function<void(const std::string&)> progress);

}  // namespace magva::stan
