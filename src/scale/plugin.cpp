#include "scale/plugin.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "magva/error.hpp"

namespace magva::detail {

namespace {

std::vector<std::string> candidates(const std::string& file, const char* variable) {
  if (const char* named = std::getenv(variable); named != nullptr && *named != '\0') return {named};
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  std::vector<std::string> all;
  if (!failed) all.push_back((program.parent_path() / file).string());
  all.push_back(file);
  return all;
}

}  // namespace

Plugin::Plugin(const std::string& file, const char* variable, const std::string& missing) {
  std::string why;
  for (const std::string& path : candidates(file, variable)) {
    // NODELETE: the libraries behind a plug-in have threads and handlers that outlive its last use.
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    path_ = path;
    if (handle_ != nullptr) return;
    // What is wrong with a file that is there says more than that another is not.
    if (why.empty() || std::filesystem::exists(path)) why = dlerror();
  }
  throw UsageError(fmt::format("{} ({})", missing, why));
}

void* Plugin::symbol(const char* name) const {
  void* found = dlsym(handle_, name);
  if (found == nullptr)
    throw UsageError(
        fmt::format("'{}' has no function {}: it belongs to another version of magva", path_, name));
  return found;
}

}  // namespace magva::detail
