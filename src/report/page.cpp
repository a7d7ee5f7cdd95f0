#include "report/page.hpp"

#include <fmt/format.h>

#include "report/style.hpp"
#include "report/table.hpp"
#include "results/text_file.hpp"
#include "version.hpp"

namespace magva::report {

namespace {

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
  results::write_text(path, [&](std::ostream& out) { out << page(text); });
}

}  // namespace magva::report
