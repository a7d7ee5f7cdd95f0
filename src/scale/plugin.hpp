#pragma once
// Shared libraries that are loaded at run time, so that a program runs where what they need is missing.
#include <string>

namespace magva::detail {

class Plugin {
 public:
  /// Looks where the environment variable says, beside the program, and where the loader looks. Throws
  /// UsageError: `missing`, then why.
  Plugin(const std::string& file, const char* variable, const std::string& missing);

  /// Throws UsageError if the library has no such function.
  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  void* handle_ = nullptr;
  std::string path_;
};

}  // namespace magva::detail
