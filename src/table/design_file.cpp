#include "table/design_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "magva/error.hpp"
#include "table/message.hpp"
#include "table/sha256.hpp"

namespace magva::design_file {

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
  input::Sha256 sha;
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

Vector numbers(std::string_view file, const Section& section) {
  const auto* first = reinterpret_cast<const double*>(file.data() + section.offset);
  return Eigen::Map<const Vector>(first, static_cast<Index>(section.bytes / sizeof(double)));
}

template <class Scalar>
Design view(std::string_view file, const Header& header, std::shared_ptr<const MappedFile> keeper) {
  const auto* first = reinterpret_cast<const Scalar*>(file.data() + header.matrix.offset);
  return Design::view(DenseRows<Scalar>{first, header.rows, header.columns(), header.columns()},
                      std::move(keeper));
}

template <class Scalar>
DesignFile checked(Header header, std::shared_ptr<const MappedFile> mapped, const std::string& path) {
  const std::string_view bytes = mapped->bytes();
  check<double>(bytes, header.response, "responses", path);
  if (header.weighted) check<double>(bytes, header.weights, "weights", path);
  check<Scalar>(bytes, header.matrix, "rows", path);
  Design design = view<Scalar>(bytes, header, mapped);
  Vector response = numbers(bytes, header.response);
  Vector weights = header.weighted ? numbers(bytes, header.weights) : Vector();
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
  if (!is_design_file(path)) return input::sha256_of_file(path);
  return decode(MappedFile(path).bytes(), path).sha256;
}

SingleRowMatrix single_precision(const RowMatrix& x, const input::DesignSpec& spec) {
  SingleRowMatrix singles = x.cast<float>();
  if (singles.array().isFinite().all()) return singles;
  const std::vector<std::string> names = spec.names();
  for (Index column = 0; column < singles.cols(); ++column)
    if (!singles.col(column).array().isFinite().all())
      throw DataError(
          fmt::format("column {} has a number that is too large for float32: standardise it, or "
                      "leave --float32 out",
                      input::excerpt(names[static_cast<std::size_t>(column)])));
  return singles;
}

}  // namespace magva::design_file
