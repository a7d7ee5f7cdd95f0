#include "table/table_layout.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "table/libsvm_reader.hpp"

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

}  // namespace

TableLayout table_layout(const std::string& path, const TextWindow& window, const ReadOptions& options) {
  const std::string_view plain_path = without_gz(path);
  TableLayout layout;
  layout.format = options.format == Format::automatic ? format_of(plain_path, window) : options.format;
  layout.separator = options.separator ? *options.separator : separator_of(plain_path, window);
  return layout;
}

}  // namespace magva::input
