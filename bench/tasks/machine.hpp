#pragma once
// What this machine can do at best, measured in the same run as the tasks.
#include <span>
#include <string>

#include "magva/workers.hpp"

namespace magva::bench {

/// Reads all numbers once, in a plain loop in each thread.
void read_once(std::span<const double> numbers, Workers& workers);
/// Bytes a second that one thread reads from memory.
double read_bandwidth();
/// Floating-point operations a second of one core, in fused multiply-adds on whole registers.
double peak_flops();
std::string compiler();

}  // namespace magva::bench
