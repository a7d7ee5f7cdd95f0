#include "stan/program_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>

#include "magva/error.hpp"

namespace magva::stan {
namespace {

namespace fs = std::filesystem;

std::string safe_stem(const fs::path& file) {
  std::string stem = file.stem().string();
  for (char& c : stem) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  if (stem.empty() || std::isdigit(static_cast<unsigned char>(stem.front()))) stem.insert(0, "model_");
  return stem;
}

/// The file that a line `#include name`, `#include <name>` or `#include "name"` names.
std::optional<std::string> included_file(const std::string& line) {
  constexpr std::string_view keyword = "#include";
  const auto begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos || line.compare(begin, keyword.size(), keyword) != 0) return std::nullopt;
  auto name = line.substr(begin + keyword.size());
  if (const auto comment = name.find("//"); comment != std::string::npos) name.erase(comment);
  constexpr auto around = " \t\r<>\"";
  const auto first = name.find_first_not_of(around);
  if (first == std::string::npos) return std::nullopt;
  return name.substr(first, name.find_last_not_of(around) - first + 1);
}

class Reader {
 public:
  explicit Reader(const fs::path& program) : folder_(program.parent_path()) { add(program); }
  std::vector<ProgramFile> take() { return std::move(files_); }

 private:
  /// Reads a file once; returns its new name.
  std::string add(const fs::path& file) {
    std::error_code problem;
    const fs::path key = fs::weakly_canonical(file, problem);
    if (problem) refuse(file);
    if (open_.contains(key))
      throw DataError(fmt::format("The Stan file '{}' includes itself.", file.string()));
    if (const auto known = names_.find(key); known != names_.end()) return known->second;
    std::string name = new_name(file);
    names_.emplace(key, name);
    const std::size_t place = files_.size();
    files_.push_back({name, {}});
    open_.insert(key);
    std::string text = renamed_includes(file);
    files_[place].text = std::move(text);
    open_.erase(key);
    return name;
  }

  std::string new_name(const fs::path& file) const {
    const std::string stem = safe_stem(file);
    const auto taken = [&](const std::string& name) {
      return std::any_of(files_.begin(), files_.end(), [&](const auto& f) { return f.name == name; });
    };
    std::string name = stem + ".stan";
    for (int copy = 2; taken(name); ++copy) name = fmt::format("{}_{}.stan", stem, copy);
    return name;
  }

  std::string renamed_includes(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::error_code problem;
    if (!in || fs::is_directory(file, problem)) refuse(file);
    std::ostringstream out;
    for (std::string line; std::getline(in, line);) {
      const auto included = included_file(line);
      out << (included ? "#include " + add(folder_ / *included) : line) << '\n';
    }
    return std::move(out).str();
  }

  [[noreturn]] static void refuse(const fs::path& file) {
    throw IoError(
        fmt::format("The Stan file '{}' cannot be read; included files are looked for beside the program.",
                    file.string()));
  }

  fs::path folder_;
  std::vector<ProgramFile> files_;
  std::map<fs::path, std::string> names_;
  std::set<fs::path> open_;
};

}  // namespace

std::vector<ProgramFile> read_program(const fs::path& file) { return Reader(file).take(); }

}  // namespace magva::stan
