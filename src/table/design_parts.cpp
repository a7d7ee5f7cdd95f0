#include "table/design_parts.hpp"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "core/lazy_memory.hpp"
#include "magva/error.hpp"
#include "table/part_files.hpp"

namespace magva::design_file {

namespace {

Header header_of(const std::string& path) { return decode(MappedFile(path).bytes(), path); }

const char* first_value(const Design& design) {
  return std::visit(
      [](const auto& rows) -> const char* {
        if constexpr (requires { rows.data; })
          return reinterpret_cast<const char*>(rows.data);
        else
          return nullptr;  // design files hold dense designs
      },
      design.storage());
}

}  // namespace

DesignParts::DesignParts(const std::string& pattern) : files_(table::matching_files(pattern)) {
  header_ = header_of(files_.front());
  std::string digests = header_.sha256;
  for (std::size_t k = 1; k < files_.size(); ++k) {
    const Header part = header_of(files_[k]);
    if (table::to_json(part.spec) != table::to_json(header_.spec) || part.element != header_.element ||
        part.weighted != header_.weighted)
      throw DataError(
          fmt::format("the rows of '{}' are not encoded as those of '{}': convert it again, with --like {}",
                      files_[k], files_.front(), files_.front()));
    header_.rows += part.rows;
    digests += part.sha256;
  }
  header_.sha256 = table::sha256_of_text(digests);
}

void DesignParts::for_each(const std::function<void(const DesignFile& part)>& use) const {
  for (const std::string& file : files_) use(open(file));
}

JoinedRows::JoinedRows(const Header& header, Range kept)
    : response(header.rows),
      weights(header.weighted ? header.rows : 0),
      header_(header),
      kept_(kept),
      values_(
          lazy_memory(static_cast<std::size_t>(header.rows * header.columns() * size_of(header.element)))) {}

void JoinedRows::append(const DesignFile& part) {
  const Index count = part.header.rows;
  response.segment(rows_, count) = part.response;
  if (weights.size() > 0) weights.segment(rows_, count) = part.weights;
  const Index begin = std::max(rows_, kept_.begin);
  const Index end = std::min(rows_ + count, kept_.end);
  const Index row_bytes = header_.columns() * size_of(header_.element);
  if (begin < end)
    std::memcpy(values_.get() + begin * row_bytes, first_value(part.design) + (begin - rows_) * row_bytes,
                static_cast<std::size_t>((end - begin) * row_bytes));
  rows_ += count;
}

Design JoinedRows::design() const {
  const Index columns = header_.columns();
  const char* first = values_.get();
  if (header_.element == Element::float64)
    return Design::view(
        DenseRows<double>{reinterpret_cast<const double*>(first), header_.rows, columns, columns}, values_);
  return Design::view(DenseRows<float>{reinterpret_cast<const float*>(first), header_.rows, columns, columns},
                      values_);
}

}  // namespace magva::design_file
