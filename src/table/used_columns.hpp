#pragma once
#include <vector>

#include "table/design.hpp"

namespace magva::input {

/// The columns of a table that a design with these options is made of.
struct UsedColumns {
  const Column* response = nullptr;
  const Column* weights = nullptr;  ///< null where there are none
  std::vector<const Column*> predictors;

  std::vector<const Column*> all() const;
};

/// Throws UsageError or DataError where an option names a column that cannot be used.
UsedColumns used_columns(const Table& table, const DesignOptions& options);

/// Those that a design which is learnt already needs. DataError where one is missing.
UsedColumns used_columns(const Table& table, const DesignSpec& spec);

/// Whether the options want a column, or a feature of a LIBSVM file, as a predictor.
bool wanted(const DesignOptions& options, const std::string& name);

}  // namespace magva::input
