#include "input/read_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "input/csv_reader.hpp"
#include "input/gzip_source.hpp"
#include "input/libsvm_reader.hpp"
#include "input/text_window.hpp"
#include "magva/error.hpp"

namespace magva::input {

namespace {

/// What separates fields in the header: the candidate that it has most of outside quotes, a comma where it
/// has none.
char sniff_separator(std::string_view line) {
  constexpr std::string_view kCandidates = ",;\t|";
  std::array<std::size_t, kCandidates.size()> counts{};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    const std::size_t candidate = kCandidates.find(c);
    if (!quoted && candidate != std::string_view::npos) ++counts[candidate];
  }
  return kCandidates[static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) -
                                              counts.begin())];
}

std::string_view first_line(const TextWindow& window) {
  return {window.begin(),
          static_cast<std::size_t>(
              std::find_if(window.begin(), window.end(), [](char c) { return c == '\n' || c == '\r'; }) -
              window.begin())};
}

std::string_view without_gz(std::string_view path) {
  if (path.ends_with(".gz")) path.remove_suffix(3);
  return path;
}

bool ends_with_any(std::string_view path, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return path.ends_with(ending); });
}

Format format_of(std::string_view path, const TextWindow& window) {
  if (ends_with_any(path, {".csv", ".tsv", ".tab"})) return Format::csv;
  if (ends_with_any(path, {".svm", ".libsvm"})) return Format::libsvm;
  return looks_like_libsvm(first_line(window)) ? Format::libsvm : Format::csv;
}

char separator_of(std::string_view path, const TextWindow& window) {
  return ends_with_any(path, {".tsv", ".tab"}) ? '\t' : sniff_separator(first_line(window));
}

void refuse_problems(const ReadOptions& options) {
  const auto problems = options.problems();
  if (!problems.empty()) throw UsageError(problems.front());
}

}  // namespace

Table read_table(ByteSource& bytes, const std::string& path, const ReadOptions& options) {
  refuse_problems(options);
  const std::string name = source_name(path);
  const std::string_view plain_path = without_gz(path);
  MaybeGzipSource text(bytes, name);
  TextWindow window(text, name, options.max_line_bytes);
  const Format format = options.format == Format::automatic ? format_of(plain_path, window) : options.format;
  if (format == Format::libsvm) return read_libsvm(window, name, options);
  const char separator = options.separator ? *options.separator : separator_of(plain_path, window);
  return read_csv(window, name, separator, options, text.size());
}

Table read_table(const std::string& path, const ReadOptions& options) {
  refuse_problems(options);
  if (!options.digest) {
    FileSource file(path);
    return read_table(file, path, options);
  }
  DigestingSource file(std::make_unique<FileSource>(path));
  Table table = read_table(file, path, options);
  table.sha256 = file.finish();
  return table;
}

}  // namespace magva::input
