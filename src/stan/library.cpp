#include "stan/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "magva/error.hpp"

namespace magva::stan {

namespace {

constexpr int kOldestMajor = 2;

void* open(const std::filesystem::path& file) {
  std::error_code failed;
  if (!std::filesystem::exists(file, failed)) {
    throw IoError(fmt::format("There is no model library '{}'.", file.string()));
  }
  // NODELETE: Stan's threads and thread-local memory may outlive the last use of the library.
  void* handle = dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) {
    throw DataError(
        fmt::format("'{}' cannot be loaded as a shared library ({}); give a library made by BridgeStan.",
                    file.string(), dlerror()));
  }
  return handle;
}

class Symbols {
 public:
  explicit Symbols(void* handle) : handle_(handle) {}

  template <class Function>
  void find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(handle_, name));
    if (!function) missing_.emplace_back(name);
  }
  const std::vector<std::string>& missing() const { return missing_; }

 private:
  void* handle_;
  std::vector<std::string> missing_;
};

Interface find_functions(Symbols& symbols) {
  Interface bs{};
  symbols.find("bs_model_construct", bs.model_construct);
  symbols.find("bs_model_destruct", bs.model_destruct);
  symbols.find("bs_free_error_msg", bs.free_error_msg);
  symbols.find("bs_name", bs.name);
  symbols.find("bs_model_info", bs.model_info);
  symbols.find("bs_param_names", bs.param_names);
  symbols.find("bs_param_unc_names", bs.param_unc_names);
  symbols.find("bs_param_num", bs.param_num);
  symbols.find("bs_param_unc_num", bs.param_unc_num);
  symbols.find("bs_param_constrain", bs.param_constrain);
  symbols.find("bs_param_unconstrain_json", bs.param_unconstrain_json);
  symbols.find("bs_log_density", bs.log_density);
  symbols.find("bs_log_density_gradient", bs.log_density_gradient);
  symbols.find("bs_rng_construct", bs.rng_construct);
  symbols.find("bs_rng_destruct", bs.rng_destruct);
  symbols.find("bs_set_print_callback", bs.set_print_callback);
  return bs;
}

std::string version_of(void* handle) {
  const auto number = [&](const char* name) -> std::string {
    const void* symbol = dlsym(handle, name);
    return symbol ? std::to_string(*static_cast<const int*>(symbol)) : "?";
  };
  return number("bs_major_version") + "." + number("bs_minor_version") + "." + number("bs_patch_version");
}

void check_version(void* handle, const std::filesystem::path& file) {
  const void* major = dlsym(handle, "bs_major_version");
  // BridgeStan 1 exported no version, but already had this function.
  const bool first_series = !major && dlsym(handle, "bs_log_density_gradient");
  if (!first_series && (!major || *static_cast<const int*>(major) >= kOldestMajor)) return;
  throw DataError(
      fmt::format("'{}' was made by BridgeStan {}; compile the model again with BridgeStan {} or later.",
                  file.string(), first_series ? "1" : version_of(handle), kOldestMajor));
}

}  // namespace

void Library::Close::operator()(void* handle) const { dlclose(handle); }

Library::Library(std::filesystem::path file) : Library(file, file) {}

Library::Library(std::filesystem::path file, std::filesystem::path program)
    : file_(std::move(file)), program_(std::move(program)), handle_(open(file_)) {
  check_version(handle_.get(), file_);
  Symbols symbols(handle_.get());
  interface_ = find_functions(symbols);
  if (!symbols.missing().empty()) {
    throw DataError(
        fmt::format("'{}' is a shared library, but lacks {} of BridgeStan's interface; give a library made "
                    "by BridgeStan {} or later.",
                    file_.string(), fmt::join(symbols.missing(), ", "), kOldestMajor));
  }
}

std::string Library::version() const { return version_of(handle_.get()); }

ErrorMessage::~ErrorMessage() {
  if (text_) bs_.free_error_msg(text_);
}

std::string ErrorMessage::text() const {
  if (!text_) return "the model gave no message";
  std::string text = text_;
  // BridgeStan opens with the call and its arguments, the whole data among them.
  constexpr std::string_view opening = " failed with exception: ";
  if (const auto at = text.rfind(opening); at != std::string::npos) text.erase(0, at + opening.size());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const auto end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string bracketed(std::string part) {
  const auto dot = part.find('.');
  if (dot == std::string::npos) return part;
  std::replace(part.begin() + static_cast<std::ptrdiff_t>(dot), part.end(), '.', ',');
  part[dot] = '[';
  return part + "]";
}

}  // namespace

std::string stan_name(std::string_view bridgestan_name) {
  std::string name;
  for (auto& part : split(bridgestan_name, ':')) {
    if (!name.empty()) name += '.';
    name += bracketed(std::move(part));
  }
  return name;
}

std::vector<std::string> stan_names(std::string_view list) {
  if (list.empty()) return {};
  auto names = split(list, ',');
  for (auto& name : names) name = stan_name(name);
  return names;
}

}  // namespace magva::stan
