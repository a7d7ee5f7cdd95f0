#include "report/page.hpp"

#include <fmt/format.h>

#include "core/atomic_file.hpp"
#include "magva/version.hpp"
#include "report/table.hpp"

namespace magva::report {

namespace {

constexpr const char* kStyleSheet = R"css(
:root { --ink: #1c1f23; --soft: #5a6068; --paper: #fcfcfa; --line: #d9dad6; --band: #f1f1ec; --accent: #00547f; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e4e0; --soft: #a2a7ad; --paper: #16181b; --line: #3a3e43; --band: #202327; --accent: #7cc4ec; }
  .panels img { filter: invert(.91) hue-rotate(180deg); }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 17px/1.55 Charter, "Bitstream Charter", Georgia, serif; }
main { max-width: 76rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
p, ul, h1, h2, h3 { max-width: 44rem; }
h1 { font-size: 2.1rem; line-height: 1.15; margin: 0 0 1rem; }
h2 { font-size: 1.5rem; line-height: 1.2; margin: 0 0 .8rem; }
h3 { font-size: 1.12rem; margin: 2rem 0 .5rem; }
section { border-top: 1px solid var(--line); margin-top: 2.8rem; padding-top: 2rem; }
li { margin: .35rem 0; }
a { color: var(--accent); }
.soft, footer, figcaption { color: var(--soft); font-size: .9rem; }
.wide { overflow-x: auto; margin: 1.1rem 0; border: 1px solid var(--line); border-radius: 6px; max-width: max-content; }
table { border-collapse: collapse; font: 14.5px/1.35 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums; }
th, td { padding: .42rem .75rem; text-align: left; vertical-align: top; }
thead th { border-bottom: 1px solid var(--line); font-weight: 600; vertical-align: bottom; color: var(--soft); max-width: 9rem; }
tbody th { font-weight: 500; position: sticky; left: 0; background: var(--paper); white-space: nowrap; }
tbody tr:nth-child(even) > * { background: var(--band); }
.n { text-align: right; }
td:not(.n) { min-width: 11rem; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, var(--panel)), 1fr)); gap: 1rem; margin: 1.2rem 0; }
.panels img { width: 100%; height: auto; display: block; border-radius: 4px; }
@media (max-width: 40rem) {
  body { font-size: 16px; }
  main { padding: 1.4rem 1rem 3rem; }
  h1 { font-size: 1.6rem; }
  table { font-size: 13px; }
  th, td { padding: .38rem .5rem; }
  tbody th { white-space: normal; min-width: 6.5rem; }
}
@media print { section { break-inside: avoid-page; } }
)css";

std::string base64(const std::string& bytes) {
  static constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) -> unsigned {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U;
    };
    const unsigned word = byte(0) << 16U | byte(1) << 8U | byte(2);
    out += kDigits[word >> 18U & 63U];
    out += kDigits[word >> 12U & 63U];
    out += i + 1 < bytes.size() ? kDigits[word >> 6U & 63U] : '=';
    out += i + 2 < bytes.size() ? kDigits[word & 63U] : '=';
  }
  return out;
}

}  // namespace

std::string data_uri(const std::string& media_type, const std::string& content) {
  return "data:" + media_type + ";base64," + base64(content);
}

std::string heading(int level, const std::string& text, const std::string& id) {
  const std::string anchor = id.empty() ? "" : fmt::format(" id=\"{}\"", escape_html(id));
  return fmt::format("<h{0}{1}>{2}</h{0}>\n", level, anchor, escape_html(text));
}

std::string paragraph(const std::string& text) { return "<p>" + escape_html(text) + "</p>\n"; }

std::string bullet_list(const std::vector<std::string>& texts) {
  if (texts.empty()) return {};
  std::string out = "<ul>\n";
  for (const auto& text : texts) out += "<li>" + escape_html(text) + "</li>\n";
  return out + "</ul>\n";
}

std::string page(const PageText& text) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"generator\" content=\"magva\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" "
      "href=\"data:,\">\n<title>{}</title>\n"
      "<style>\n{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n{}",
      escape_html(text.title), kStyleSheet, escape_html(text.title), text.lead);
  for (const auto& piece : text.body) out += "<section>\n" + piece + "</section>\n";
  return out +
         fmt::format("<footer><p>Made by magva {}.</p></footer>\n</main>\n</body>\n</html>\n", version());
}

void save_page(const PageText& text, const std::filesystem::path& path) {
  io::write_text(path, [&](std::ostream& out) { out << page(text); });
}

}  // namespace magva::report
