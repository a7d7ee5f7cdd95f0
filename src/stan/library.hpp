#pragma once
// A shared library made by BridgeStan, opened and checked.
#include <filesystem>
#include <memory>
#include <string>

#include "stan/interface.hpp"

namespace magva::stan {

class Library {
 public:
  /// Throws IoError where there is no such file, DataError where it is no library, lacks functions of the
  /// interface, or was made by a BridgeStan before version 2.
  explicit Library(std::filesystem::path file);

  const std::filesystem::path& file() const { return file_; }
  const Interface& bs() const { return interface_; }
  /// BridgeStan's version, such as "2.7.0".
  std::string version() const;

 private:
  struct Close {
    void operator()(void* handle) const;
  };
  std::filesystem::path file_;
  std::unique_ptr<void, Close> handle_;
  Interface interface_;
};

/// The message of a call that takes `char** error`, freed by the library that made it.
class ErrorMessage {
 public:
  explicit ErrorMessage(const Interface& bs) : bs_(bs) {}
  ~ErrorMessage();
  ErrorMessage(const ErrorMessage&) = delete;
  ErrorMessage& operator=(const ErrorMessage&) = delete;

  char** out() { return &text_; }
  /// What the model said, on one line, without BridgeStan's account of the call; a default where it said
  /// nothing.
  std::string text() const;

 private:
  const Interface& bs_;
  char* text_ = nullptr;
};

}  // namespace magva::stan
