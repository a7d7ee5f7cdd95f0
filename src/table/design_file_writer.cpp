#include "table/design_file_writer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "magva/error.hpp"
#include "magva/regression.hpp"
#include "table/design_file.hpp"
#include "table/mapped_file.hpp"
#include "table/message.hpp"

namespace magva::design_file {

namespace {

[[noreturn]] void refuse(const std::filesystem::path& file) {
  const char* advice = errno == ENOSPC || errno == EDQUOT ? "; make room on that disk" : "";
  throw IoError(fmt::format("cannot write '{}': {}{}", file.string(), std::strerror(errno), advice));
}

Header laid_out(Header header) {
  lay_out(header);
  return header;
}

template <class Scalar>
bool equal_in(const char* data, Index rows, Index columns, Index a, Index b) {
  const auto* x = reinterpret_cast<const Scalar*>(data);
  for (Index row = 0; row < rows; ++row, x += columns)
    if (x[a] != x[b]) return false;
  return true;
}

}  // namespace

Writer::Writer(const std::string& path, Header header)
    : file_(path),
      header_(laid_out(std::move(header))),
      descriptor_(::open(file_.temporary().c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)),
      response_{header_.response.offset, {}},
      weights_{header_.weights.offset, {}},
      matrix_{header_.matrix.offset, {}} {
  if (descriptor_ < 0) refuse(path);
}

Writer::~Writer() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Writer::write_at(std::uint64_t offset, const void* data, std::size_t size) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t done = ::pwrite(descriptor_, from, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) refuse(file_.file());
    from += done;
    offset += static_cast<std::uint64_t>(done);
    size -= static_cast<std::size_t>(done);
  }
}

void Writer::write(SectionWriter& to, const void* data, std::size_t size) {
  write_at(to.offset, data, size);
  to.sha.update(static_cast<const char*>(data), size);
  to.offset += size;
}

void Writer::append_singles(const RowMatrix& x) {
  const SingleRowMatrix singles = single_precision(x, header_.spec);
  write(matrix_, singles.data(), static_cast<std::size_t>(singles.size()) * sizeof(float));
}

void Writer::append(const input::Design& part) {
  if (part.size() == 0) return;
  rows_ += part.size();
  if (rows_ > header_.rows) throw std::logic_error("a design file was given more rows than announced");
  const auto column_bytes = static_cast<std::size_t>(part.size()) * sizeof(double);
  write(response_, part.y.data(), column_bytes);
  if (header_.weighted) write(weights_, part.weights.data(), column_bytes);
  if (header_.element == Element::float32)
    append_singles(part.x);
  else
    write(matrix_, part.x.data(), static_cast<std::size_t>(part.x.size()) * sizeof(double));
  hashes_.add(part.x);
}

bool Writer::equal_columns(Index a, Index b) const {
  const MappedFile written(file_.temporary());
  const char* data = written.bytes().data() + header_.matrix.offset;
  return header_.element == Element::float64 ? equal_in<double>(data, rows_, header_.columns(), a, b)
                                             : equal_in<float>(data, rows_, header_.columns(), a, b);
}

std::vector<input::Duplicate> Writer::duplicates() const {
  return hashes_.duplicates([&](Index a, Index b) { return equal_columns(a, b); });
}

void Writer::commit() {
  if (rows_ != header_.rows) throw std::logic_error("a design file was given fewer rows than announced");
  header_.response.sha256 = response_.sha.hex();
  if (header_.weighted) header_.weights.sha256 = weights_.sha.hex();
  header_.matrix.sha256 = matrix_.sha.hex();
  const std::string head = encode(header_);
  write_at(0, head.data(), head.size());
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) refuse(file_.file());
  file_.commit();
}

}  // namespace magva::design_file
