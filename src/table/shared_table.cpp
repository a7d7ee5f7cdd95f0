#include "table/shared_table.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "magva/error.hpp"
#include "table/byte_source.hpp"
#include "table/part_files.hpp"
#include "table/read_table.hpp"

namespace magva::table {

namespace {

/// What the first rank reads must be more than what decides which columns are numbers.
constexpr std::uint64_t kFewestBytesPerRank = 4 * TextWindow::kInitialBytes;

class Writer {
 public:
  void add(const void* data, std::size_t bytes) { text_.append(static_cast<const char*>(data), bytes); }
  template <class Number>
  void number(Number value) {
    add(&value, sizeof value);
  }
  void text(const std::string& value) {
    number(value.size());
    text_ += value;
  }
  std::string& bytes() { return text_; }

 private:
  std::string text_;
};

class Reader {
 public:
  explicit Reader(const std::string& text) : at_(text.data()) {}
  void take(void* to, std::size_t bytes) {
    std::memcpy(to, at_, bytes);
    at_ += bytes;
  }
  template <class Number>
  Number number() {
    Number value;
    take(&value, sizeof value);
    return value;
  }
  std::string text() {
    std::string value(number<std::size_t>(), '\0');
    take(value.data(), value.size());
    return value;
  }

 private:
  const char* at_;
};

/// Of rank `root`, to all.
void broadcast_text(int root, std::string& text, Communicator& ranks) {
  std::uint64_t size = text.size();
  ranks.broadcast_from(root, &size, sizeof size);
  text.resize(size);
  ranks.broadcast_from(root, text.data(), size);
}

bool any_rank(bool here, Communicator& ranks) {
  double count = here ? 1 : 0;
  ranks.sum_to_leader(&count, 1);
  ranks.broadcast(&count, sizeof count);
  return count > 0;
}

bool has_values(const Column& column) {
  for (Index row = 0; row < column.values.size(); ++row)
    if (!column.missing(row)) return true;
  return false;
}

/// The columns' names, and of those that have values whether they are numbers.
std::string columns_text(const Table& table) {
  Writer out;
  out.number(table.columns.size());
  for (const Column& column : table.columns) {
    out.text(column.name);
    out.number(has_values(column));
    out.number(column.kind);
  }
  return out.bytes();
}

struct SharedColumns {
  bool alike = true;                        ///< the ranks have the same columns
  std::map<std::string, ColumnKind> kinds;  ///< by the first rank that has a value
};

SharedColumns compare_columns(const Table& own, Communicator& ranks) {
  SharedColumns shared;
  const std::vector<std::string> names = own.names();
  for (int rank = 0; rank < ranks.size(); ++rank) {
    std::string text = rank == ranks.rank() ? columns_text(own) : std::string();
    broadcast_text(rank, text, ranks);
    Reader in(text);
    const auto count = in.number<std::size_t>();
    shared.alike = shared.alike && count == names.size();
    for (std::size_t j = 0; j < count; ++j) {
      const std::string name = in.text();
      const bool decides = in.number<bool>();
      const auto kind = in.number<ColumnKind>();
      shared.alike = shared.alike && j < names.size() && name == names[j];
      if (decides) shared.kinds.emplace(name, kind);
    }
  }
  return shared;
}

bool has_kinds(const Table& table, const std::map<std::string, ColumnKind>& kinds) {
  return std::all_of(table.columns.begin(), table.columns.end(), [&](const Column& column) {
    const auto wanted = kinds.find(column.name);
    return wanted == kinds.end() || wanted->second == column.kind;
  });
}

std::string rows_text(const Table& table) {
  Writer out;
  out.number(table.rows);
  out.number(table.end_line);
  for (Index row = 0; row < table.rows; ++row) out.number(table.lines.line_of(row));
  for (const Column& column : table.columns) {
    out.number(column.levels.size());
    for (const std::string& level : column.levels) out.text(level);
    out.add(column.values.span().data(), static_cast<std::size_t>(table.rows) * sizeof(double));
  }
  return out.bytes();
}

/// Rows that a rank has read, behind those of the ranks before it. Their lines come after the header's, which
/// is there once in the whole.
void append_column(Reader& in, Index rows, Column& to) {
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t k = 0; k < to.levels.size(); ++k) known.emplace(to.levels[k], k);
  std::vector<double> number(in.number<std::size_t>());  // of each level, in the whole
  for (double& of_level : number) {
    const auto [level, is_new] = known.emplace(in.text(), to.levels.size());
    if (is_new) to.levels.push_back(level->first);
    of_level = static_cast<double>(level->second);
  }
  double* values = to.values.extend(rows);
  in.take(values, static_cast<std::size_t>(rows) * sizeof(double));
  if (to.kind != ColumnKind::text) return;
  for (Index i = 0; i < rows; ++i)
    if (!std::isnan(values[i])) values[i] = number[static_cast<std::size_t>(values[i])];
}

void append_rows(const std::string& text, Table& to) {
  constexpr std::int64_t kHeaderEnd = 2;  // header lines of later ranks are not in the whole
  Reader in(text);
  const auto rows = in.number<Index>();
  const auto end_line = in.number<std::int64_t>();
  const std::int64_t offset = to.rows == 0 ? 0 : to.end_line - kHeaderEnd;
  for (Index row = 0; row < rows; ++row) to.lines.add(to.rows + row, in.number<std::int64_t>() + offset);
  for (Column& column : to.columns) append_column(in, rows, column);
  to.rows += rows;
  to.end_line = end_line + offset;
}

Table merge_rows(Table own, const std::map<std::string, ColumnKind>& kinds, Communicator& ranks) {
  Table all;
  all.source = own.source;
  for (Column& column : own.columns) {
    Column empty;
    empty.name = column.name;
    const auto kind = kinds.find(column.name);
    empty.kind = kind == kinds.end() ? column.kind : kind->second;
    all.columns.push_back(std::move(empty));
  }
  for (int rank = 0; rank < ranks.size(); ++rank) {
    std::string text;
    if (rank == ranks.rank()) {
      text = rows_text(own);
      own = {};
    }
    broadcast_text(rank, text, ranks);
    append_rows(text, all);
  }
  return all;
}

/// The rank's own files, all of which have the header.
class Share {
 public:
  Share(const std::string& pattern, ReadOptions options, const Communicator& ranks)
      : pattern_(pattern), options_(std::move(options)) {
    options_.digest = false;
    const std::vector<std::string> files = matching_files(pattern);
    std::vector<std::uint64_t> sizes;
    for (const std::string& file : files) sizes.push_back(std::filesystem::file_size(file));
    const Range own = files_of_rank(sizes, ranks.rank(), ranks.size());
    files_.assign(files.begin() + own.begin, files.begin() + own.end);
    for (Index k = own.begin; k < own.end; ++k) bytes_ += sizes[static_cast<std::size_t>(k)];
  }

  bool too_small() const { return bytes_ < kFewestBytesPerRank; }
  /// False if they cannot be read so.
  bool read(Table& table, const std::map<std::string, ColumnKind>& kinds = {}) const {
    try {
      ReadOptions options = options_;
      options.column_kinds.insert(kinds.begin(), kinds.end());
      JoinedSource bytes(files_);
      table = read_table(bytes, pattern_, options);
      return !table.features;
    } catch (const std::exception&) {
      return false;
    }
  }

 private:
  std::string pattern_;
  ReadOptions options_;
  std::vector<std::string> files_;
  std::uint64_t bytes_ = 0;
};

/// Nothing if it cannot be shared; the same on all ranks.
std::optional<Table> read_in_shares(const std::string& pattern, const ReadOptions& options,
                                    Communicator& ranks) {
  std::optional<Share> share;
  try {
    share.emplace(pattern, options, ranks);
  } catch (const std::exception&) {  // every rank that reads all will say it
  }
  if (any_rank(!share || share->too_small(), ranks)) return std::nullopt;
  Table own;
  if (any_rank(!share->read(own), ranks)) return std::nullopt;
  const SharedColumns shared = compare_columns(own, ranks);
  if (any_rank(!shared.alike, ranks)) return std::nullopt;
  const bool fine = has_kinds(own, shared.kinds) || share->read(own, shared.kinds);
  if (any_rank(!fine, ranks)) return std::nullopt;
  return merge_rows(std::move(own), shared.kinds, ranks);
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

Table read_shared(const std::string& pattern, const ReadOptions& options, Communicator& ranks) {
  if (ranks.size() == 1 || !is_pattern(pattern)) return read_table(pattern, options);
  std::optional<Table> table = read_in_shares(pattern, options, ranks);
  if (!table) return read_table(pattern, options);
  if (options.digest && ranks.rank() == 0) table->sha256 = DigestingSource(open_bytes(pattern)).finish();
  return std::move(*table);
}

}  // namespace magva::table
