#pragma once
// Seconds a call takes, for machines that others use too: repetitions of about equal length, of which the
// fastest counts; and medians, where what is compared is measured in pairs.
#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

namespace magva::bench {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class Call>
double seconds_for(long calls, Call&& call) {
  const double start = seconds_now();
  for (long i = 0; i < calls; ++i) call();
  return seconds_now() - start;
}

/// Repetitions of a millisecond, short enough to fall between others' work, or of one call, until `budget`
/// seconds are over; three at least.
template <class Call>
double fastest(double budget, Call&& call) {
  call();
  constexpr double each = 1e-3;
  long calls = 1;
  double took = seconds_for(calls, call);
  while (took < each) {
    calls = std::max(2 * calls, static_cast<long>(static_cast<double>(calls) * each / std::max(took, 1e-9)));
    took = seconds_for(calls, call);
  }
  double best = took / static_cast<double>(calls);
  const double end = seconds_now() + budget;
  for (int repetition = 0; repetition < 3 || seconds_now() < end; ++repetition)
    best = std::min(best, seconds_for(calls, call) / static_cast<double>(calls));
  return best;
}

inline double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

}  // namespace magva::bench
