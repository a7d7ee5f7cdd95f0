#include "table/mdlp.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>

namespace magva::table {

namespace {

using Counts = std::vector<Index>;

/// How many rows of each class there are, and the sum over classes of n log2 n, from which the entropy
/// follows.
double entropy(const Counts& counts, Index total) {
  double sum = 0;
  for (const Index count : counts)
    if (count > 0) sum += static_cast<double>(count) * std::log2(static_cast<double>(count));
  const auto n = static_cast<double>(total);
  return std::log2(n) - sum / n;
}

int classes_present(const Counts& counts) {
  return static_cast<int>(std::count_if(counts.begin(), counts.end(), [](Index count) { return count > 0; }));
}

/// Rows [begin, end) of the sorted column.
struct Segment {
  std::size_t begin, end;
  Index size() const { return static_cast<Index>(end - begin); }
};

struct Split {
  std::size_t position;  ///< the first row of the upper part
  double mean_entropy;
  Counts lower, upper;
};

class Discretiser {
 public:
  Discretiser(std::span<const double> values, std::span<const int> classes, int number_of_classes)
      : number_of_classes_(static_cast<std::size_t>(number_of_classes)) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    for (const std::size_t row : order) {
      values_.push_back(values[row]);
      classes_.push_back(static_cast<std::size_t>(classes[row]));
    }
  }

  std::vector<double> cuts() const {
    std::vector<double> found;
    std::vector<Segment> open = {{0, values_.size()}};
    while (!open.empty()) {
      const Segment segment = open.back();
      open.pop_back();
      const auto split = best_split(segment);
      if (!split || !shortens_description(segment, *split)) continue;
      found.push_back(midpoint(split->position));
      open.push_back({segment.begin, split->position});
      open.push_back({split->position, segment.end});
    }
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  Counts count(Segment segment) const {
    Counts counts(number_of_classes_, 0);
    for (std::size_t row = segment.begin; row < segment.end; ++row) ++counts[classes_[row]];
    return counts;
  }

  /// Halves first: the sum of two large values may overflow. Between neighbouring doubles the lower one must
  /// do.
  double midpoint(std::size_t upper) const {
    const double middle = values_[upper - 1] / 2 + values_[upper] / 2;
    return middle < values_[upper] && middle >= values_[upper - 1] ? middle : values_[upper - 1];
  }

  std::optional<Split> best_split(Segment segment) const {
    std::optional<Split> best;
    Counts lower(number_of_classes_, 0);
    Counts upper = count(segment);
    const auto total = static_cast<double>(segment.size());
    for (std::size_t row = segment.begin + 1; row < segment.end; ++row) {
      ++lower[classes_[row - 1]];
      --upper[classes_[row - 1]];
      if (values_[row - 1] == values_[row]) continue;
      const Index n_lower = static_cast<Index>(row - segment.begin), n_upper = segment.size() - n_lower;
      const double mean = static_cast<double>(n_lower) / total * entropy(lower, n_lower) +
                          static_cast<double>(n_upper) / total * entropy(upper, n_upper);
      if (!best || mean < best->mean_entropy) best = Split{row, mean, lower, upper};
    }
    return best;
  }

  /// Gain > (log2(N - 1) + log2(3^k - 2) - (k E - k1 E1 - k2 E2)) / N.
  bool shortens_description(Segment segment, const Split& split) const {
    const Counts all = count(segment);
    const double whole = entropy(all, segment.size());
    const double lower = entropy(split.lower, static_cast<Index>(split.position - segment.begin));
    const double upper = entropy(split.upper, static_cast<Index>(segment.end - split.position));
    const int k = classes_present(all);
    const double delta = log2_of_3_to_k_less_2(k) - (k * whole - classes_present(split.lower) * lower -
                                                     classes_present(split.upper) * upper);
    const auto n = static_cast<double>(segment.size());
    return whole - split.mean_entropy > (std::log2(n - 1) + delta) / n;
  }

  /// Without computing 3^k, which overflows for many classes.
  static double log2_of_3_to_k_less_2(int k) {
    return k * std::log2(3.0) + std::log2(1 - 2 * std::pow(3.0, -k));
  }

  std::size_t number_of_classes_;
  std::vector<double> values_;
  std::vector<std::size_t> classes_;
};

}  // namespace

std::vector<double> mdlp_cuts(std::span<const double> values, std::span<const int> classes,
                              int number_of_classes) {
  return Discretiser(values, classes, number_of_classes).cuts();
}

Index bin_of(double value, std::span<const double> cuts) {
  return std::lower_bound(cuts.begin(), cuts.end(), value) - cuts.begin();
}

}  // namespace magva::table
