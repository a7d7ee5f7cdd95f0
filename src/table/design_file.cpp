#include "table/design_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "magva/error.hpp"
#include "magva/regression.hpp"
#include "table/byte_source.hpp"
#include "table/design_parts.hpp"
#include "table/message.hpp"
#include "table/part_files.hpp"

namespace magva::design_file {

namespace {

/// Closed at the end: a mapping needs no open file.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

IoError read_error(const std::string& path) {
  return IoError(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat status {};
  if (file.number < 0 || ::fstat(file.number, &status) != 0) throw read_error(path);
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  data_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.number, 0);
  if (data_ == MAP_FAILED) throw read_error(path);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

// Advice that the kernel cannot take is no fault.
void MappedFile::expect_sequential_reads() const {
  if (data_ != nullptr) ::madvise(data_, size_, MADV_SEQUENTIAL);
}

void MappedFile::expect_scattered_reads() const {
  if (data_ != nullptr) ::madvise(data_, size_, MADV_NORMAL);
}

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18U;  // bytes that stay in cache between the two looks

template <class Scalar>
bool all_finite(const char* bytes, std::size_t size) {
  const auto* values = reinterpret_cast<const Scalar*>(bytes);
  return Eigen::Map<const Eigen::Array<Scalar, Eigen::Dynamic, 1>>(values,
                                                                   static_cast<Index>(size / sizeof(Scalar)))
      .isFinite()
      .all();
}

/// Throws DataError unless the section has its digest and finite numbers.
template <class Scalar>
void check(std::string_view file, const Section& section, const char* what, const std::string& name) {
  const std::string_view bytes = file.substr(section.offset, section.bytes);
  table::Sha256 sha;
  bool finite = true;
  for (std::size_t begin = 0; begin < bytes.size(); begin += kPiece) {
    const std::size_t size = std::min(kPiece, bytes.size() - begin);
    sha.update(bytes.data() + begin, size);
    finite = finite && all_finite<Scalar>(bytes.data() + begin, size);
  }
  if (sha.hex() != section.sha256)
    throw DataError(
        fmt::format("the design file '{}' is damaged: its {} do not have their digest; convert "
                    "the table again",
                    name, what));
  if (!finite)
    throw DataError(fmt::format("the design file '{}' has {} that are not finite numbers", name, what));
}

Vector values_of(std::string_view file, const Section& section) {
  const auto* first = reinterpret_cast<const double*>(file.data() + section.offset);
  return Eigen::Map<const Vector>(first, static_cast<Index>(section.bytes / sizeof(double)));
}

template <class Scalar>
Design view(std::string_view file, const Header& header, std::shared_ptr<const MappedFile> owner) {
  const auto* first = reinterpret_cast<const Scalar*>(file.data() + header.matrix.offset);
  return Design::view(DenseRows<Scalar>{first, header.rows, header.columns(), header.columns()},
                      std::move(owner));
}

template <class Scalar>
DesignFile checked(Header header, std::shared_ptr<const MappedFile> mapped, const std::string& path) {
  const std::string_view bytes = mapped->bytes();
  check<double>(bytes, header.response, "responses", path);
  if (header.weighted) check<double>(bytes, header.weights, "weights", path);
  check<Scalar>(bytes, header.matrix, "rows", path);
  Design design = view<Scalar>(bytes, header, mapped);
  Vector response = values_of(bytes, header.response);
  Vector weights = header.weighted ? values_of(bytes, header.weights) : Vector();
  return {std::move(header), std::move(design), std::move(response), std::move(weights), std::move(mapped)};
}

}  // namespace

DesignFile open(const std::string& path) {
  auto mapped = std::make_shared<const MappedFile>(path);
  Header header = decode(mapped->bytes(), path);
  mapped->expect_sequential_reads();
  return header.element == Element::float64 ? checked<double>(std::move(header), std::move(mapped), path)
                                            : checked<float>(std::move(header), std::move(mapped), path);
}

std::string data_digest(const std::string& path) {
  if (table::is_pattern(path)) {
    if (is_design_file(table::matching_files(path).front())) return DesignParts(path).header().sha256;
    return table::DigestingSource(table::open_bytes(path)).finish();
  }
  if (!is_design_file(path)) return table::sha256_of_file(path);
  return decode(MappedFile(path).bytes(), path).sha256;
}

SingleRowMatrix single_precision(const RowMatrix& x, const table::DesignSpec& spec) {
  SingleRowMatrix singles = x.cast<float>();
  if (singles.array().isFinite().all()) return singles;
  const std::vector<std::string> names = spec.names();
  for (Index column = 0; column < singles.cols(); ++column)
    if (!singles.col(column).array().isFinite().all())
      throw DataError(
          fmt::format("column {} has a number that is too large for float32: standardise it, or "
                      "leave --float32 out",
                      table::excerpt(names[static_cast<std::size_t>(column)])));
  return singles;
}

namespace {

Header laid_out(Header header) {
  lay_out(header);
  return header;
}

/// Some rows of a section.
template <class Values>
Values values_at(const char* file, const Section& section, Index begin, Index rows, Index columns) {
  using Scalar = typename Values::Scalar;
  const auto* first = reinterpret_cast<const Scalar*>(file + section.offset) + begin * columns;
  return Eigen::Map<const Values>(first, rows, columns);
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
  if (descriptor_ < 0) throw io::write_error(path, errno);
}

Writer::~Writer() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Writer::write_at(std::uint64_t offset, const void* data, std::size_t size) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t done = ::pwrite(descriptor_, from, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw io::write_error(file_.file(), errno);
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

void Writer::append(const table::EncodedRows& part) {
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

std::vector<table::Duplicate> Writer::duplicates() const {
  return hashes_.duplicates([&](Index a, Index b) { return equal_columns(a, b); });
}

void Writer::for_each_part(const std::function<void(table::EncodedRows part)>& use) const {
  constexpr Index kPartValues = Index{1} << 20U;
  const MappedFile written(file_.temporary());
  const char* bytes = written.bytes().data();
  const Index columns = header_.columns();
  const Index step = std::max<Index>(1, kPartValues / columns);
  for (Index begin = 0; begin < rows_; begin += step) {
    const Index count = std::min(step, rows_ - begin);
    table::EncodedRows part;
    part.names = header_.spec.names();
    part.rows.resize(static_cast<std::size_t>(count));
    std::iota(part.rows.begin(), part.rows.end(), begin);
    part.y = values_at<Vector>(bytes, header_.response, begin, count, 1);
    if (header_.weighted) part.weights = values_at<Vector>(bytes, header_.weights, begin, count, 1);
    part.x =
        header_.element == Element::float64
            ? values_at<RowMatrix>(bytes, header_.matrix, begin, count, columns)
            : RowMatrix(
                  values_at<SingleRowMatrix>(bytes, header_.matrix, begin, count, columns).cast<double>());
    use(std::move(part));
  }
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
  if (closed != 0) throw io::write_error(file_.file(), errno);
  file_.commit();
}

}  // namespace magva::design_file
