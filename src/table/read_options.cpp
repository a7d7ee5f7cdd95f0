#include "table/read_options.hpp"

#include <string_view>

namespace magva::input {

std::vector<std::string> ReadOptions::problems() const {
  std::vector<std::string> found;
  constexpr std::string_view kPossible = ",;\t| :&";
  if (separator && kPossible.find(*separator) == std::string_view::npos)
    found.emplace_back("separator: must be one of , ; tab | space : &");
  if (max_line_bytes < 1 || max_line_bytes > std::size_t{1} << 40U)
    found.emplace_back("max_line_bytes: must be between 1 and 2^40");
  if (max_columns < 1 || max_columns > 2'000'000'000)
    found.emplace_back("max_columns: must be between 1 and 2,000,000,000");
  return found;
}

}  // namespace magva::input
