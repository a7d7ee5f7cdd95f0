#pragma once
#include <memory>
#include <string>
#include <vector>

#include "table/byte_source.hpp"

namespace magva::input {

/// The decompressed bytes of a source that starts with gzip's magic bytes, or the bytes themselves of one
/// that does not. `name` is what messages call the source. The inner source must outlive this one.
class MaybeGzipSource final : public ByteSource {
 public:
  MaybeGzipSource(ByteSource& inner, std::string name);
  ~MaybeGzipSource() override;
  std::size_t read(char* buffer, std::size_t size) override;
  std::optional<std::uint64_t> size() const override;

 private:
  struct Inflater;
  void refill();
  std::size_t read_plain(char* buffer, std::size_t size);
  std::size_t inflate_some(char* buffer, std::size_t size);

  ByteSource& inner_;
  std::string name_;
  std::vector<char> compressed_;
  std::size_t begin_ = 0, end_ = 0;
  bool inner_ended_ = false;
  std::unique_ptr<Inflater> inflater_;
};

}  // namespace magva::input
