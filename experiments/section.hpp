#pragma once
// An experiment's part of the report: headings, texts, tables and figures in the order in which they are
// added.
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "report/figure.hpp"
#include "report/table.hpp"

namespace magva::experiments {

class Section {
 public:
  /// Tables go into the folder, figures into its folder `figures`.
  Section(std::filesystem::path folder, const std::string& title, const std::string& id,
          const std::string& what_was_run);

  void part(const std::string& title, const std::string& text);
  void bullets(const std::vector<std::string>& texts);
  /// Shown, and saved under a name.
  void table(const report::Table& table, const std::string& stem);
  void panels(std::vector<report::Panel> panels);

  /// Draws the figures and writes section.html. Returns sentences for the user.
  std::vector<std::string> write() const;

 private:
  std::filesystem::path folder_;
  std::vector<std::variant<std::string, std::vector<report::Panel>>> pieces_;
};

}  // namespace magva::experiments
