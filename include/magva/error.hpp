#pragma once
// Every error that the library throws on purpose. `what()` is one sentence for the user: what is wrong,
// where, what to do. The program maps the kinds to its exit codes; anything else that is thrown is a bug.
#include <stdexcept>

namespace magva {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An invalid option, argument or call (exit code 2).
class UsageError : public Error {
 public:
  using Error::Error;
};

/// Data, a model or a file whose content cannot be used (exit code 65).
class DataError : public Error {
 public:
  using Error::Error;
};

/// A file or folder that cannot be read or written (exit code 74).
class IoError : public Error {
 public:
  using Error::Error;
};

}  // namespace magva
