#include "machine.hpp"

#include <array>
#include <numeric>
#include <vector>

#include "timing.hpp"

namespace magva::bench {

namespace {
typedef double Wide __attribute__((vector_size(64)));
volatile double sink;  // NOLINT: keeps what is measured from being optimised away
}  // namespace

void read_once(std::span<const double> numbers, Workers& workers) {
  constexpr Index kTogether = 64;
  constexpr Index kTasks = 32;  // a thread that comes late leaves some to the others
  std::array<double, kTasks> sums{};
  workers.run(kTasks, [&](Index task) {
    const Range part = piece(static_cast<Index>(numbers.size()) / kTogether, kTasks, task);
    Wide sum[8] = {};
    for (Index i = part.begin; i < part.end; ++i)
      for (int k = 0; k < 8; ++k) {
        Wide x;
        __builtin_memcpy(&x, numbers.data() + kTogether * i + 8 * k, sizeof x);
        sum[k] += x;
      }
    double total = 0;
    for (const Wide& part_sum : sum)
      for (int k = 0; k < 8; ++k) total += part_sum[k];
    sums[static_cast<std::size_t>(task)] = total;
  });
  sink = std::accumulate(sums.begin(), sums.end(), 0.);
}

double read_bandwidth() {
  constexpr std::size_t kNumbers = std::size_t{1} << 26U;  // 512 MiB, far beyond any cache
  const std::vector<double> numbers(kNumbers, 1.);
  Workers workers(1);
  return 8. * static_cast<double>(kNumbers) / fastest(1.5, [&] { read_once(numbers, workers); });
}

double peak_flops() {
  constexpr int kChains = 16;
  constexpr long kRounds = 100'000;
  const auto work = [] {
    Wide x[kChains];
    for (int k = 0; k < kChains; ++k) x[k] = Wide{} + (1. + k);
    const Wide a = Wide{} + .999;
    const Wide b = Wide{} + .001;
    for (long i = 0; i < kRounds; ++i)
      for (Wide& chain : x) chain = chain * a + b;
    double total = 0;
    for (const Wide& chain : x) total += chain[0];
    sink = total;
  };
  return 2. * 8 * kChains * static_cast<double>(kRounds) / fastest(.5, work);
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

}  // namespace magva::bench
