#pragma once
#include <memory>

#include "magva/regression.hpp"
#include "magva/types.hpp"
#include "table/design_file_header.hpp"
#include "table/mapped_file.hpp"

namespace magva::design_file {

/// A design file, mapped and checked.
struct DesignFile {
  Header header;
  Design design;  ///< looks at the mapped file
  Vector response;
  Vector weights;  ///< empty where there are none
  std::shared_ptr<const MappedFile> file;
};

/// Reads the file once to check it against its digests. IoError or DataError where it cannot be used.
DesignFile open(const std::string& path);

/// What ties a fit to its data: the digest of a design file's header, or of any other file's bytes.
std::string data_digest(const std::string& path);

/// The numbers in single precision. DataError, naming the column, where one is too large for that.
SingleRowMatrix single_precision(const RowMatrix& x, const input::DesignSpec& spec);

}  // namespace magva::design_file
