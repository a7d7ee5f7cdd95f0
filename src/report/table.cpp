#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/atomic_file.hpp"
#include "results/text.hpp"

namespace magva::report {

namespace {

std::string markdown_cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

template <class Cells, class Write>
std::string joined(const Cells& cells, const char* between, Write&& write) {
  std::string line;
  for (const auto& cell : cells) line += (line.empty() ? "" : between) + write(cell);
  return line;
}

std::string html_cell(const char* tag, const TableColumn& column, const std::string& text) {
  return fmt::format("<{0}{1}>{2}</{3}>", tag, column.number ? " class=\"n\"" : "", escape_html(text),
                     std::string(tag).substr(0, 2));
}

}  // namespace

std::string decimals(double value, int places) {
  if (!std::isfinite(value)) return "";
  if (std::abs(value) >= 1e7) return fmt::format("{:.1e}", value);
  std::string text = fmt::format("{:.{}f}", value, places);
  if (text.find_first_not_of("-0.") == std::string::npos && text[0] == '-') text.erase(0, 1);
  return text;
}

std::string escape_html(const std::string& text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  return out;
}

std::string Table::csv() const {
  std::string out;
  for (std::size_t j = 0; j < columns.size(); ++j)
    out += (j > 0 ? "," : "") + results::csv_text(columns[j].name);
  out += '\n';
  for (const auto& row : rows) {
    for (std::size_t j = 0; j < row.size(); ++j) out += (j > 0 ? "," : "") + results::csv_text(row[j]);
    out += '\n';
  }
  return out;
}

std::string Table::markdown() const {
  std::string out =
      "| " + joined(columns, " | ", [](const TableColumn& c) { return markdown_cell(c.heading); }) + " |\n";
  out += "|" +
         joined(columns, "|", [](const TableColumn& c) { return std::string(c.number ? "---:" : "---"); }) +
         "|\n";
  for (const auto& row : rows) {
    out += "|";
    for (const auto& cell : row) out += " " + markdown_cell(cell) + " |";
    out += '\n';
  }
  return out;
}

std::string Table::html() const {
  std::string head;
  for (const auto& column : columns) head += html_cell("th scope=\"col\"", column, column.heading);
  const bool headed =
      std::any_of(columns.begin(), columns.end(), [](const TableColumn& c) { return !c.heading.empty(); });
  std::string out =
      "<div class=\"wide\"><table>" + (headed ? "<thead><tr>" + head + "</tr></thead>" : "") + "<tbody>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (std::size_t j = 0; j < row.size(); ++j)
      out += html_cell(j == 0 ? "th scope=\"row\"" : "td", columns[j], row[j]);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

void save(const Table& table, const std::filesystem::path& folder, const std::string& stem) {
  io::write_text(folder / (stem + ".csv"), [&](std::ostream& out) { out << table.csv(); });
  io::write_text(folder / (stem + ".md"), [&](std::ostream& out) { out << table.markdown(); });
}

}  // namespace magva::report
