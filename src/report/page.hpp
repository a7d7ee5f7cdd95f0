#pragma once
// One self-contained page: everything inside, no scripts, nothing from the network.
#include <filesystem>
#include <string>
#include <vector>

namespace magva::report {

struct PageText {
  std::string title;
  std::string lead;               ///< HTML
  std::vector<std::string> body;  ///< HTML, one piece per section
};

std::string page(const PageText& text);
void save_page(const PageText& text, const std::filesystem::path& path);

std::string data_uri(const std::string& media_type, const std::string& content);
std::string heading(int level, const std::string& text, const std::string& id = "");
/// Text, not HTML.
std::string paragraph(const std::string& text);
std::string bullet_list(const std::vector<std::string>& texts);

}  // namespace magva::report
