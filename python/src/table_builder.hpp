#pragma once
#include <utility>

#include "magva/table.hpp"

namespace magva::python {

/// A table while Python adds its columns. Whoever fits it takes the columns over.
struct TableBuilder {
  explicit TableBuilder(std::string source) { table.source = std::move(source); }
  TableBuilder(const TableBuilder&) = delete;
  TableBuilder& operator=(const TableBuilder&) = delete;

  table::Table table;
};

}  // namespace magva::python
