#pragma once
#include <filesystem>

namespace magva::report {

enum class GnuplotOutcome { done, missing };

/// Runs gnuplot on a script, in the script's folder, without a shell. IoError, with what gnuplot said, where
/// it fails.
GnuplotOutcome run_gnuplot(const std::filesystem::path& script);

}  // namespace magva::report
