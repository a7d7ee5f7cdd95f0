#include "experiments/data_files.hpp"

#include <cstdlib>

namespace magva::experiments {

namespace fs = std::filesystem;

std::optional<fs::path> find_data(const fs::path& folder, const std::string& file) {
  std::vector<fs::path> folders;
  if (!folder.empty()) folders.push_back(folder);
  if (const char* given = std::getenv("MAGVA_DATA"); given != nullptr && *given != 0)
    folders.emplace_back(given);
  std::error_code none;
  if (const fs::path program = fs::read_symlink("/proc/self/exe", none); !none) {
    folders.push_back(program.parent_path() / ".." / "share" / "magva");
    folders.push_back(program.parent_path() / ".." / "data");
  }
  for (const fs::path& candidate : folders)
    if (fs::is_regular_file(candidate / file, none)) return candidate / file;
  return std::nullopt;
}

table::Table subset(const table::Table& table, const std::vector<Index>& rows) {
  table::Table out;
  out.source = table.source;
  out.rows = static_cast<Index>(rows.size());
  for (const table::Column& column : table.columns) {
    table::Column part{column.name, column.kind, {}, column.levels};
    for (const Index row : rows) part.values.push_back(column.values[row]);
    out.columns.push_back(std::move(part));
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    out.lines.add(static_cast<Index>(i), table.lines.line_of(rows[i]));
  return out;
}

}  // namespace magva::experiments
