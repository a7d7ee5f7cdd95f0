#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace magva::stan {

/// SHA-256 over a sequence of texts; each text's length goes in with it, so that no two sequences run
/// together.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void add(std::string_view text);
  /// The digest so far in hexadecimal; nothing may be added afterwards.
  std::string hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace magva::stan
