#pragma once
// What this machine can do at best, measured in the same run as the tasks.
#include <string>

namespace magva::bench {

/// Bytes a second that `threads` threads read from memory together.
double read_bandwidth(int threads);
/// Floating-point operations a second of one core, in fused multiply-adds on whole registers.
double peak_flops();
std::string compiler();

}  // namespace magva::bench
