#include "experiments/section.hpp"

#include "core/atomic_file.hpp"
#include "report/page.hpp"

namespace magva::experiments {

Section::Section(std::filesystem::path folder, const std::string& title, const std::string& id,
                 const std::string& what_was_run)
    : folder_(std::move(folder)) {
  pieces_.emplace_back(report::heading(2, title, id) + report::paragraph(what_was_run));
}

void Section::part(const std::string& title, const std::string& text) {
  pieces_.emplace_back(report::heading(3, title) + report::paragraph(text));
}

void Section::bullets(const std::vector<std::string>& texts) {
  pieces_.emplace_back(report::bullet_list(texts));
}

void Section::table(const report::Table& table, const std::string& stem) {
  report::save(table, folder_, stem);
  pieces_.emplace_back(table.html());
}

void Section::panels(std::vector<report::Panel> panels) { pieces_.emplace_back(std::move(panels)); }

std::vector<std::string> Section::write() const {
  std::vector<report::Panel> all;
  for (const auto& piece : pieces_)
    if (const auto* panels = std::get_if<std::vector<report::Panel>>(&piece))
      all.insert(all.end(), panels->begin(), panels->end());
  const std::string complaint = report::draw(all, folder_ / "figures");
  io::write_text(folder_ / "section.html", [&](std::ostream& out) {
    for (const auto& piece : pieces_)
      if (const auto* html = std::get_if<std::string>(&piece))
        out << *html;
      else
        out << report::html(std::get<std::vector<report::Panel>>(piece), folder_ / "figures");
  });
  return complaint.empty() ? std::vector<std::string>{} : std::vector{complaint};
}

}  // namespace magva::experiments
