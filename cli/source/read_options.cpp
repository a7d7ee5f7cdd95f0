#include "source/read_options.hpp"

namespace magva::source {

input::ReadOptions read_options(const options::Values& values) {
  input::ReadOptions options;
  const std::string format = values.text("format");
  if (format == "csv") options.format = input::Format::csv;
  if (format == "libsvm") options.format = input::Format::libsvm;
  if (const std::string separator = values.text("separator"); !separator.empty())
    options.separator = separator == "tab" ? '\t' : separator.front();
  options.text_columns = values.list("text");
  options.digest = true;
  return options;
}

}  // namespace magva::source
