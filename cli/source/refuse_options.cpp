#include "source/refuse_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "magva/error.hpp"

namespace magva::source {

void refuse_options(const options::Values& values, const std::vector<std::string>& options,
                    const std::string& where) {
  std::vector<std::string> found;
  for (const auto& option : options)
    if (values.command().find(option) != nullptr && values.given(option)) found.push_back("--" + option);
  if (!found.empty())
    throw UsageError(fmt::format("{} {} no meaning {}", fmt::join(found, ", "),
                                 found.size() == 1 ? "has" : "have", where));
}

std::vector<std::string> coding_options() {
  return {"weights",    "column",  "exclude", "positive",  "standardise",
          "discretise", "missing", "format",  "separator", "text"};
}

}  // namespace magva::source
