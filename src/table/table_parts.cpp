#include "table/table_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "magva/error.hpp"
#include "table/byte_source.hpp"
#include "table/csv_reader.hpp"
#include "table/gzip_source.hpp"
#include "table/table_layout.hpp"

namespace magva::input {

namespace {

constexpr Index kPartValues = Index{1} << 20U;  // about 8 MiB
constexpr Index kMostPartRows = Index{1} << 16U;

class CsvFileParts final : public TableParts {
 public:
  CsvFileParts(std::string path, ReadOptions options)
      : path_(std::move(path)), options_(std::move(options)) {}

  void for_each(const Use& use) override {
    part_ = {};
    DigestingSource file(std::make_unique<FileSource>(path_));
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
    const std::string digest = file.finish();
    if (!sha256_.empty() && digest != sha256_)
      throw DataError(fmt::format("{} was changed while it was read", path_));
    sha256_ = digest;
  }
  std::string sha256() const override { return sha256_; }

 private:
  std::string path_;
  ReadOptions options_;
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
  if (path == "-") throw UsageError("standard input can be read only once");
  return std::make_unique<CsvFileParts>(path, options);
}

std::unique_ptr<TableParts> whole_table(Table table) {
  return std::make_unique<WholeTable>(std::move(table));
}

}  // namespace magva::input
