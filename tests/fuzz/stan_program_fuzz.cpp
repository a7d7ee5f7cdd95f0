// A Stan program with the files that it includes: refused with a sentence, or handed on under names that are
// safe for make. Parts of the input between zero bytes are the files: the program, then a.stan, then b.stan.
// (Stan's own JSON reader, in the model's library, reads the data; magva hands the text over.)
#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <set>
#include <string_view>

#include "magva/error.hpp"
#include "round_trip.hpp"
#include "stan/program_text.hpp"
#include "support/temporary_folder.hpp"

using namespace magva;
using table::fuzz::require;

namespace {

constexpr std::array kFiles = {"program.stan", "a.stan", "b.stan"};

void write_files(std::string_view text, const std::filesystem::path& folder) {
  for (const char* name : kFiles) {
    const std::string_view part = text.substr(0, text.find('\0'));
    std::ofstream(folder / name, std::ios::binary) << part;
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
}

bool safe(const std::string& name) {
  const std::string stem = name.substr(0, name.rfind(".stan"));
  return !stem.empty() && std::all_of(stem.begin(), stem.end(),
                                      [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const test::TemporaryFolder folder;
  write_files({reinterpret_cast<const char*>(data), size}, folder.path());
  try {
    std::set<std::string> names;
    for (const auto& file : stan::read_program(folder.path() / kFiles.front())) {
      require(safe(file.name), "names are safe");
      require(names.insert(file.name).second, "no two files have one name");
    }
  } catch (const magva::Error& error) {
    require(error.what()[0] != '\0', "an error says something");
  }
  return 0;
}
