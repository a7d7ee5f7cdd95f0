#include "table/read_table.hpp"

#include <memory>

#include "magva/error.hpp"
#include "table/csv_reader.hpp"
#include "table/gzip_source.hpp"
#include "table/libsvm_reader.hpp"
#include "table/table_layout.hpp"
#include "table/text_window.hpp"

namespace magva::input {

namespace {

void refuse_problems(const ReadOptions& options) {
  const auto problems = options.problems();
  if (!problems.empty()) throw UsageError(problems.front());
}

}  // namespace

Table read_table(ByteSource& bytes, const std::string& path, const ReadOptions& options) {
  refuse_problems(options);
  const std::string name = source_name(path);
  MaybeGzipSource text(bytes, name);
  TextWindow window(text, name, options.max_line_bytes);
  const TableLayout layout = table_layout(path, window, options);
  if (layout.format == Format::libsvm) return read_libsvm(window, name, options);
  return read_csv(window, name, layout.separator, options, text.size());
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
