#include "results/whole_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "magva/error.hpp"

namespace magva::results {

WholeFile::WholeFile(std::filesystem::path file)
    : file_(std::move(file)), temporary_(file_.string() + fmt::format(".{}.tmp", getpid())) {}

WholeFile::~WholeFile() {
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void WholeFile::commit() {
  std::error_code failed;
  std::filesystem::rename(temporary_, file_, failed);
  if (failed)
    throw IoError(fmt::format("The file '{}' cannot be written: {}.", file_.string(), failed.message()));
}

}  // namespace magva::results
