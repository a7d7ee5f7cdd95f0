#pragma once
// A table of results, once, for CSV, Markdown and HTML.
#include <filesystem>
#include <string>
#include <vector>

namespace magva::report {

struct TableColumn {
  std::string name;     ///< in CSV files
  std::string heading;  ///< for people
  bool number = true;
};

struct Table {
  std::vector<TableColumn> columns;
  std::vector<std::vector<std::string>> rows;  ///< one text per column; empty if there is nothing to say

  std::string csv() const;
  std::string markdown() const;
  std::string html() const;
};

/// table.csv and table.md in the folder.
void save(const Table& table, const std::filesystem::path& folder, const std::string& stem = "table");

/// With so many decimals; an empty text if it is not finite.
std::string decimals(double value, int places);
std::string escape_html(const std::string& text);

}  // namespace magva::report
