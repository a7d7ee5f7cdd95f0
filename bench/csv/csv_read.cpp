// Reads a CSV file and prints one JSON line: seconds, processor seconds, rows, columns, the sum of all
// numbers, peak memory.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>

#include "table/read_table.hpp"

namespace {
double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto start = std::chrono::steady_clock::now();
  const magva::table::Table table = magva::table::read_table(argv[1]);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  double sum = 0;
  for (const auto& column : table.columns) sum += column.values.vector().sum();
  fmt::print(
      "{{\"seconds\": {}, \"cpu_seconds\": {}, \"rows\": {}, \"columns\": {}, \"sum\": {}, \"peak_bytes\": "
      "{}}}\n",
      seconds, seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime), table.rows, table.columns.size(), sum,
      usage.ru_maxrss * 1024);
  return 0;
}
