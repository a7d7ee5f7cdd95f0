#include "table/read_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "core/atomic_file.hpp"
#include "magva/error.hpp"
#include "table/byte_source.hpp"
#include "table/csv_reader.hpp"
#include "table/libsvm_reader.hpp"
#include "table/part_files.hpp"

namespace magva::table {

namespace {

/// What separates fields in the header: the candidate that it has most of outside quotes, a comma if it
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

void ReadOptions::validate() const {
  constexpr std::string_view kPossible = ",;\t| :&";
  if (separator && kPossible.find(*separator) == std::string_view::npos)
    throw UsageError("separator: must be one of , ; tab | space : &");
  if (max_line_bytes < 1 || max_line_bytes > std::size_t{1} << 40U)
    throw UsageError("max_line_bytes: must be between 1 and 2^40");
  if (max_columns < 1 || max_columns > 2'000'000'000)
    throw UsageError("max_columns: must be between 1 and 2,000,000,000");
}

Table read_table(ByteSource& bytes, const std::string& path, const ReadOptions& options) {
  options.validate();
  const std::string name = source_name(path);
  MaybeGzipSource text(bytes, name);
  TextWindow window(text, name, options.max_line_bytes);
  const TableLayout layout = table_layout(path, window, options);
  if (layout.format == Format::libsvm) return read_libsvm(window, name, options);
  return read_csv(window, name, layout.separator, options, text.size());
}

Table read_table(const std::string& path, const ReadOptions& options) {
  options.validate();
  if (!options.digest) {
    const auto file = open_bytes(path);
    return read_table(*file, path, options);
  }
  DigestingSource file(open_bytes(path));
  Table table = read_table(file, path, options);
  table.sha256 = file.finish();
  return table;
}

namespace {

constexpr Index kPartValues = Index{1} << 20U;  // about 8 MiB
constexpr Index kMostPartRows = Index{1} << 16U;

/// A copy of what can be read only once, in a file without a name.
class Spool {
 public:
  explicit Spool(const std::string& path) : file_(std::tmpfile()) {
    if (!file_) throw io::write_error(std::filesystem::temp_directory_path(), errno);
    FileSource source(path);
    std::vector<char> buffer(std::size_t{1} << 18U);
    while (const std::size_t got = source.read(buffer.data(), buffer.size()))
      if (std::fwrite(buffer.data(), 1, got, file_.get()) != got) fail();
    if (std::fflush(file_.get()) != 0) fail();
  }
  /// Opened anew, it is read from its beginning.
  std::string path() const { return fmt::format("/proc/self/fd/{}", ::fileno(file_.get())); }

 private:
  [[noreturn]] static void fail() {
    throw IoError(
        fmt::format("cannot keep a copy of what comes from a pipe, which is read twice, in {}: {}; make room "
                    "there, or set TMPDIR",
                    std::filesystem::temp_directory_path().string(), std::strerror(errno)));
  }
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

bool can_be_read_twice(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return path != "-" && (std::filesystem::is_regular_file(status) || std::filesystem::is_directory(status) ||
                         !std::filesystem::exists(status));
}

class CsvFileParts final : public TableParts {
 public:
  CsvFileParts(const std::string& path, ReadOptions options) : path_(path), options_(std::move(options)) {
    if (can_be_read_twice(path)) return;
    spool_ = std::make_unique<Spool>(path);
    path_ = source_name(path);
  }

  void for_each(const Use& use) override {
    part_ = {};
    DigestingSource file(open_bytes(spool_ ? spool_->path() : path_));
    MaybeGzipSource text(file, path_);
    TextWindow window(text, path_, options_.max_line_bytes);
    const TableLayout layout = table_layout(path_, window, options_);
    if (layout.format == Format::libsvm)
      throw DataError(fmt::format(
          "{} is a LIBSVM file, whose rows are sparse: a design file would hold their zeros; fit it as it is",
          path_));
    CsvParts parts(window, path_, layout.separator, options_);
    const Index rows = std::clamp<Index>(kPartValues / parts.columns(), 1, kMostPartRows);
    while (parts.next(part_, rows)) use(part_);
    parts.check_has_rows();
    const std::string digest = file.finish();
    if (!sha256_.empty() && digest != sha256_)
      throw DataError(fmt::format("{} was changed while it was read", path_));
    sha256_ = digest;
  }
  std::string sha256() const override { return sha256_; }

 private:
  std::string path_;
  ReadOptions options_;
  std::unique_ptr<Spool> spool_;
  Table part_;
  std::string sha256_;
};

class WholeTable final : public TableParts {
 public:
  explicit WholeTable(Table table) : table_(std::move(table)) {}
  void for_each(const Use& use) override { use(table_); }
  std::string sha256() const override { return table_.sha256; }

 private:
  Table table_;
};

}  // namespace

std::unique_ptr<TableParts> csv_file_parts(const std::string& path, const ReadOptions& options) {
  return std::make_unique<CsvFileParts>(path, options);
}

std::unique_ptr<TableParts> whole_table(Table table) {
  return std::make_unique<WholeTable>(std::move(table));
}

}  // namespace magva::table
