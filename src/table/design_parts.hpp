#pragma once
// Design files that are parts of one design.
#include <functional>
#include <string>
#include <vector>

#include "magva/workers.hpp"
#include "table/design_file.hpp"

namespace magva::design_file {

class DesignParts {
 public:
  /// All design files with such a name. Throws IoError if there are none, DataError if their rows are not
  /// encoded alike.
  explicit DesignParts(const std::string& pattern);

  /// Of the first, but with the rows and the digest of all.
  const Header& header() const { return header_; }
  /// Calls use(part) for one after another, mapped and checked.
  void for_each(const std::function<void(const DesignFile& part)>& use) const;

 private:
  std::vector<std::string> files_;
  Header header_;
};

/// Rows of all parts in one piece of memory, in which only the rows `kept` are filled in: the others are
/// zeros that take no memory until they are read. Responses and weights are all there.
class JoinedRows {
 public:
  JoinedRows(const Header& header, Range kept);
  void append(const DesignFile& part);
  Design design() const;

  Vector response, weights;

 private:
  Header header_;
  Range kept_;
  std::shared_ptr<char> values_;
  Index rows_ = 0;
};

}  // namespace magva::design_file
