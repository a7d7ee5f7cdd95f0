#include "table/libsvm_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>
#include <vector>

#include "magva/error.hpp"
#include "table/column_builder.hpp"
#include "table/message.hpp"

namespace magva::table {

namespace {

struct Pair {
  std::string_view index, value;
  bool has_colon = false;
};

std::string_view next_token(std::string_view& line) {
  line = trim(line);
  const std::string_view token = line.substr(0, line.find_first_of(" \t"));
  line.remove_prefix(token.size());
  return token;
}

Pair split_pair(std::string_view token) {
  const std::size_t colon = token.find(':');
  if (colon == std::string_view::npos) return {token, {}, false};
  return {token.substr(0, colon), token.substr(colon + 1), true};
}

std::optional<Index> read_index(std::string_view text) {
  Index index = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, index);
  return result.ec == std::errc() && result.ptr == end ? std::optional(index) : std::nullopt;
}

class LibsvmReader {
 public:
  LibsvmReader(TextWindow& window, std::string source, const ReadOptions& options)
      : window_(window), source_(std::move(source)), max_columns_(options.max_columns) {
    label_.name = "label";
    row_starts_.push_back(0);
  }

  Table read() {
    if (window_.empty()) throw DataError(fmt::format("{} is empty", source_));
    std::string_view line;
    while (next_line(line)) {
      read_line(line.substr(0, line.find('#')));
      ++line_;
    }
    return finish();
  }

 private:
  bool next_line(std::string_view& line) {
    const char* begin = window_.begin();
    const char* end = std::find(begin, window_.end(), '\n');
    while (end == window_.end() && !window_.last()) {
      const std::ptrdiff_t searched = end - begin;
      window_.more(line_);
      begin = window_.begin();
      end = std::find(begin + searched, window_.end(), '\n');
    }
    if (begin == window_.end()) return false;
    line = std::string_view(begin, static_cast<std::size_t>(end - begin));
    if (line.ends_with('\r')) line.remove_suffix(1);
    window_.consume_to(end == window_.end() ? end : end + 1);
    return true;
  }

  void read_line(std::string_view line) {
    const std::string_view label = next_token(line);
    if (label.empty()) return;
    lines_.add(label_.values.size(), line_);
    label_.values.push_back(finite(label, "the label"));
    Index previous = 0;
    for (std::string_view token = next_token(line); !token.empty(); token = next_token(line))
      previous = read_feature(token, previous);
    if (values_.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      fail("more than 2^31 - 1 values in all, which is too many");
    row_starts_.push_back(static_cast<int>(values_.size()));
  }

  Index read_feature(std::string_view token, Index previous) {
    const Pair pair = split_pair(token);
    if (!pair.has_colon) fail(fmt::format("{} where index:value is needed", excerpt(token)));
    const auto index = read_index(pair.index);
    if (!index) fail(fmt::format("{} is not the index of a feature", excerpt(pair.index)));
    if (*index < 1) fail(fmt::format("index {} where indices count from 1", *index));
    if (*index <= previous) fail(fmt::format("index {} after {}; indices must increase", *index, previous));
    if (*index > max_columns_)
      fail(fmt::format("index {} is above {}, the most that is read", *index, max_columns_));
    const double value = finite(pair.value, fmt::format("the value of feature {}", *index));
    features_ = std::max(features_, *index);
    if (value == 0) return *index;
    inner_.push_back(static_cast<int>(*index - 1));
    values_.push_back(value);
    return *index;
  }

  double finite(std::string_view text, const std::string& what) const {
    const Cell cell = read_cell(text);
    if (cell.kind != CellKind::number)
      fail(fmt::format("{}, {}, is not a finite number", what, excerpt(text)));
    return cell.value;
  }

  [[noreturn]] void fail(const std::string& fault) const {
    throw DataError(fmt::format("{}: {}", place(source_, window_.files(), line_), fault));
  }

  Table finish() {
    Table table;
    table.source = source_;
    table.rows = label_.values.size();
    if (table.rows == 0) throw DataError(fmt::format("{} has no rows", source_));
    table.lines = std::move(lines_);
    table.columns.push_back(std::move(label_));
    table.features =
        Eigen::Map<const SparseRowMatrix>(table.rows, features_, static_cast<Index>(values_.size()),
                                          row_starts_.data(), inner_.data(), values_.data());
    return table;
  }

  TextWindow& window_;
  std::string source_;
  Index max_columns_;
  Column label_;
  LineMap lines_;
  std::int64_t line_ = 1;
  std::vector<int> row_starts_, inner_;
  std::vector<double> values_;
  Index features_ = 0;
};

}  // namespace

Table read_libsvm(TextWindow& window, const std::string& source_name, const ReadOptions& options) {
  return LibsvmReader(window, source_name, options).read();
}

bool looks_like_libsvm(std::string_view line) {
  line = line.substr(0, line.find('#'));
  if (read_cell(next_token(line)).kind != CellKind::number) return false;
  bool any = false;
  for (std::string_view token = next_token(line); !token.empty(); token = next_token(line)) {
    const Pair pair = split_pair(token);
    if (!pair.has_colon || !read_index(pair.index)) return false;
    any = true;
  }
  return any;
}

}  // namespace magva::table
