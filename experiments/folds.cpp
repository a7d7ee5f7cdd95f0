#include "experiments/folds.hpp"

#include <Random123/philox.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <utility>

#include "core/atomic_file.hpp"
#include "magva/error.hpp"

namespace magva::experiments {

namespace {

/// A random word for a row: the same on every machine.
std::uint64_t random_word(std::uint64_t seed, std::uint32_t split, std::uint64_t row) {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32U); };
  const auto bits = r123::Philox4x32()({{low(row), high(row), split, 0}}, {{low(seed), high(seed)}});
  return (static_cast<std::uint64_t>(bits[1]) << 32U) | bits[0];
}

}  // namespace

std::vector<int> stratified_folds(ConstVectorRef classes, int folds, std::uint64_t seed,
                                  std::uint32_t split) {
  std::vector<int> out(static_cast<std::size_t>(classes.size()));
  std::size_t dealt = 0;
  for (const double label : {0., 1.}) {
    std::vector<std::pair<std::uint64_t, std::size_t>> rows;
    for (Index i = 0; i < classes.size(); ++i)
      if (classes(i) == label)
        rows.emplace_back(random_word(seed, split, static_cast<std::uint64_t>(i)),
                          static_cast<std::size_t>(i));
    std::sort(rows.begin(), rows.end());
    for (const auto& [word, row] : rows)
      out[row] = static_cast<int>(dealt++ % static_cast<std::size_t>(folds));
  }
  return out;
}

void write_folds(const std::vector<std::vector<int>>& splits, const std::filesystem::path& path) {
  io::write_text(path, [&](std::ostream& out) {
    for (std::size_t s = 0; s < splits.size(); ++s) out << (s > 0 ? "," : "") << "split" << s + 1;
    out << '\n';
    for (std::size_t row = 0; row < splits.front().size(); ++row)
      for (std::size_t s = 0; s < splits.size(); ++s)
        out << splits[s][row] + 1 << (s + 1 < splits.size() ? ',' : '\n');
  });
}

std::vector<int> read_folds(const std::filesystem::path& path, Index rows) {
  std::istringstream lines(io::read_text(path));
  std::string line;
  std::getline(lines, line);
  std::vector<int> out;
  while (std::getline(lines, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    int fold = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), fold);
    if (error != std::errc() || end != line.data() + line.size() || fold < 1 || fold > 1000)
      throw DataError(fmt::format("{}, line {}: '{}' is no fold, which is a number from 1 to 1000",
                                  path.string(), out.size() + 2, line.substr(0, 40)));
    out.push_back(fold - 1);
  }
  if (static_cast<Index>(out.size()) != rows)
    throw DataError(
        fmt::format("{} has {} folds below its header and the data have {} rows: there must be one a row",
                    path.string(), out.size(), rows));
  const std::set<int> used(out.begin(), out.end());
  if (used.size() < 2 || *used.rbegin() != static_cast<int>(used.size()) - 1)
    throw DataError(
        fmt::format("the folds in {} must be numbered 1, 2, ... without a gap, and there must be two or more",
                    path.string()));
  return out;
}

int fold_count(const std::vector<int>& folds) { return *std::max_element(folds.begin(), folds.end()) + 1; }

FoldRows rows_of(const std::vector<int>& folds, int fold) {
  FoldRows out;
  for (std::size_t i = 0; i < folds.size(); ++i)
    (folds[i] == fold ? out.test : out.training).push_back(static_cast<Index>(i));
  return out;
}

}  // namespace magva::experiments
