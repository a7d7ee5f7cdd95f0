#include "table/shared_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <unordered_map>
#include <vector>

#include "magva/error.hpp"
#include "table/byte_source.hpp"
#include "table/csv_reader.hpp"
#include "table/part_files.hpp"
#include "table/read_table.hpp"

namespace magva::table {

namespace {

/// The files of a pattern, as the leader sees them.
struct Files {
  std::vector<std::string> names;
  std::vector<std::uint64_t> sizes;

  template <class Archive>
  void transfer(Archive& archive) {
    archive(names, sizes);
  }
};

Files list_files(const std::string& pattern, const TableRanks& ranks) {
  Files files;
  ranks.together([&] {
    if (!ranks.leads()) return;
    files.names = matching_files(pattern);
    for (const std::string& name : files.names) files.sizes.push_back(std::filesystem::file_size(name));
  });
  ByteWriter write;
  if (ranks.leads()) write(files);
  ranks.broadcast(0, write.bytes());
  ByteReader read(write.bytes());
  read(files);
  return files;
}

/// Bytes as a CSV reader takes them.
struct CsvText {
  CsvText(ByteSource& bytes, const std::string& path, const ReadOptions& options)
      : name(source_name(path)),
        text(bytes, name),
        window(text, name, options.max_line_bytes),
        layout(table_layout(path, window, options)) {}

  std::string name;
  MaybeGzipSource text;
  TextWindow window;
  TableLayout layout;
};

/// What the whole table's first rows say. Nothing of a LIBSVM file.
std::optional<std::map<std::string, ColumnKind>> first_kinds(const std::string& path,
                                                             const ReadOptions& options) {
  const auto bytes = open_bytes(path);
  CsvText csv(*bytes, path, options);
  if (csv.layout.format != Format::csv) return std::nullopt;
  return CsvParts(csv.window, csv.name, csv.layout.separator, options).kinds();
}

bool has_values(const Column& column) {
  for (Index row = 0; row < column.values.size(); ++row)
    if (!column.missing(row)) return true;
  return false;
}

/// Columns that have no cells in the table's first rows are what the first rank says that has one.
std::map<std::string, ColumnKind> late_kinds(const Table& own, const TableRanks& ranks) {
  std::map<std::string, ColumnKind> kinds;
  ranks.in_turn(kinds, [&] {
    for (const Column& column : own.columns)
      if (!kinds.contains(column.name) && has_values(column)) kinds.emplace(column.name, column.kind);
  });
  return kinds;
}

bool has_kinds(const Table& table, const std::map<std::string, ColumnKind>& kinds) {
  return std::all_of(table.columns.begin(), table.columns.end(), [&](const Column& column) {
    const auto wanted = kinds.find(column.name);
    return wanted == kinds.end() || wanted->second == column.kind || !has_values(column);
  });
}

/// Numbers the levels of this rank's texts as one reader of the whole table would.
void merge_levels(Table& own, const TableRanks& ranks) {
  std::vector<std::vector<std::string>> levels(own.columns.size());
  ranks.in_turn(levels, [&] {
    for (std::size_t j = 0; j < own.columns.size(); ++j) {
      std::unordered_map<std::string, double> known;
      for (const std::string& level : levels[j]) known.emplace(level, static_cast<double>(known.size()));
      std::vector<double> number;
      for (std::string& level : own.columns[j].levels) {
        const auto [found, is_new] = known.emplace(level, static_cast<double>(known.size()));
        number.push_back(found->second);
        if (is_new) levels[j].push_back(std::move(level));
      }
      if (number.empty()) continue;
      double* values = own.columns[j].values.data();
      for (Index row = 0; row < own.rows; ++row)
        if (!own.columns[j].missing(row)) values[row] = number[static_cast<std::size_t>(values[row])];
    }
  });
  for (std::size_t j = 0; j < own.columns.size(); ++j) own.columns[j].levels = std::move(levels[j]);
}

Table read_own_files(const std::string& pattern, const Files& files, Range own, const ReadOptions& options) {
  JoinedSource bytes(files.names, own);
  CsvText csv(bytes, pattern, options);
  CsvParts parts(csv.window, csv.name, csv.layout.separator, options);
  Table table;
  parts.next(table, std::numeric_limits<Index>::max());
  return table;
}

Table read_files(const std::string& pattern, const Files& files, ReadOptions options,
                 const TableRanks& ranks) {
  const Range own = files_of_rank(files.sizes, ranks.rank(), ranks.size());
  Table table;
  ranks.together([&] { table = read_own_files(pattern, files, own, options); });
  const auto kinds = late_kinds(table, ranks);
  for (const auto& [name, kind] : kinds) options.column_kinds.emplace(name, kind);
  ranks.together([&] {
    if (!has_kinds(table, kinds)) table = read_own_files(pattern, files, own, options);
  });
  for (Column& column : table.columns)
    if (const auto kind = kinds.find(column.name); kind != kinds.end()) column.kind = kind->second;
  merge_levels(table, ranks);
  return table;
}

/// Passes bytes on and knows how many have been read.
class CountingSource final : public ByteSource {
 public:
  explicit CountingSource(ByteSource& inner) : inner_(inner) {}
  std::size_t read(char* buffer, std::size_t size) override {
    const std::size_t got = inner_.read(buffer, size);
    count_ += got;
    return got;
  }
  std::optional<std::uint64_t> size() const override { return inner_.size(); }
  std::uint64_t count() const { return count_; }

 private:
  ByteSource& inner_;
  std::uint64_t count_ = 0;
};

void append(const Table& part, Table& to) {
  to.source = part.source;
  to.columns.resize(part.columns.size());
  for (Index row = 0; row < part.rows; ++row) to.lines.add(to.rows + row, part.lines.line_of(row));
  for (std::size_t j = 0; j < part.columns.size(); ++j) {
    const auto values = part.columns[j].values.span();
    std::copy(values.begin(), values.end(), to.columns[j].values.extend(part.rows));
  }
  to.rows += part.rows;
}

/// All ranks read the same bytes in the same pieces, so that each knows which rows are whose: those that
/// begin in its share of the bytes.
Table read_rows(const std::string& path, const ReadOptions& options, const TableRanks& ranks) {
  constexpr Index kPartValues = Index{1} << 16U;
  DigestingSource file(std::make_unique<FileSource>(path));
  CountingSource bytes(file);
  CsvText csv(bytes, path, options);
  CsvParts parts(csv.window, csv.name, csv.layout.separator, options);
  const Index most = std::max<Index>(1, kPartValues / parts.columns());
  const double total = static_cast<double>(std::max<std::uint64_t>(1, file.size().value_or(1)));
  Table own, part;
  double before = static_cast<double>(bytes.count());
  while (parts.next(part, most)) {
    const int whose = std::min(ranks.size() - 1, static_cast<int>(before / total * ranks.size()));
    if (whose == ranks.rank()) append(part, own);
    before = static_cast<double>(bytes.count());
  }
  parts.check_has_rows();
  append(part, own);  // it has no rows, but the columns
  for (std::size_t j = 0; j < own.columns.size(); ++j) {
    own.columns[j].name = part.columns[j].name;
    own.columns[j].kind = part.columns[j].kind;
    own.columns[j].levels = std::move(part.columns[j].levels);
  }
  if (options.digest && ranks.leads()) own.sha256 = file.finish();
  return own;
}

/// What comes from a pipe cannot be read by all.
bool can_be_shared(const std::string& path) {
  std::error_code error;
  return is_pattern(path) || std::filesystem::is_regular_file(path, error);
}

TableShare read_by_all(const std::string& path, const ReadOptions& options, const TableRanks& ranks) {
  Table table;
  ranks.together([&] { table = read_table(path, options); });
  return whole_share(std::move(table));
}

}  // namespace

Range files_of_rank(const std::vector<std::uint64_t>& sizes, int rank, int size) {
  std::uint64_t total = 0;
  for (const std::uint64_t bytes : sizes) total += bytes;
  // A file is the rank's in whose piece of all bytes its middle is.
  const auto first_from = [&](int of_rank) {
    std::uint64_t before = 0;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const long double middle = static_cast<long double>(before) + static_cast<long double>(sizes[k]) / 2;
      if (middle * size >= static_cast<long double>(total) * of_rank) return static_cast<Index>(k);
      before += sizes[k];
    }
    return static_cast<Index>(sizes.size());
  };
  return {first_from(rank), rank + 1 == size ? static_cast<Index>(sizes.size()) : first_from(rank + 1)};
}

TableShare whole_share(Table table) {
  const Index rows = table.rows;
  return {std::move(table), {}, rows};
}

TableShare read_shared(const std::string& path, const ReadOptions& options, const TableRanks& ranks) {
  if (ranks.alone() || !ranks.all(can_be_shared(path))) return read_by_all(path, options, ranks);
  std::optional<std::map<std::string, ColumnKind>> kinds;
  ranks.together([&] {
    options.validate();
    kinds = first_kinds(path, options);
  });
  if (!kinds) return read_by_all(path, options, ranks);
  ReadOptions own = options;
  own.column_kinds = std::move(*kinds);
  TableShare share{{}, ranks, 0};
  if (is_pattern(path))
    share.rows = read_files(path, list_files(path, ranks), own, ranks);
  else
    ranks.together([&] { share.rows = read_rows(path, options, ranks); });
  share.rows_of_all = ranks.row_starts(share.rows.rows).back();
  if (share.rows_of_all == 0) throw DataError(fmt::format("{} has a header but no rows", source_name(path)));
  ranks.together([&] {
    if (options.digest && ranks.leads() && share.rows.sha256.empty())
      share.rows.sha256 = DigestingSource(open_bytes(path)).finish();
  });
  return share;
}

}  // namespace magva::table
