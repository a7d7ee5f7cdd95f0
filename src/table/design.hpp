#pragma once
// From a table to what a regression model needs: the design matrix, the names of its coefficients, response
// and weights.
#include <string>
#include <vector>

#include "magva/types.hpp"
#include "table/design_spec.hpp"
#include "table/table.hpp"

namespace magva::input {

enum class Discretise { none, mdlp };

struct DesignOptions {
  std::string response;  ///< the column; of a LIBSVM file it may stay empty: "label"
  ResponseKind kind = ResponseKind::binary;
  std::string
      positive_class;   ///< the class that is 1; empty: the larger number, or the last text in sorted order
  std::string weights;  ///< the column of observation weights, or nothing
  std::vector<std::string>
      columns;  ///< the predictors; empty: every column that is not response, weights or excluded
  std::vector<std::string> excluded;         ///< columns that are not predictors
  bool standardise = false;                  ///< columns of numbers to mean 0 and sd 1 (divisor n - 1)
  Discretise discretise = Discretise::none;  ///< of columns of numbers, by the classes of a binary response
  MissingPolicy missing = MissingPolicy::refuse;
  Index max_levels = 1000;  ///< of a text column: more are taken for a name or key by mistake

  std::vector<std::string> problems() const;
};

struct Design {
  RowMatrix x;                     ///< dense designs: the intercept first
  SparseRowMatrix sparse_x;        ///< designs of LIBSVM files, instead of x
  std::vector<std::string> names;  ///< of the columns
  Vector y;                        ///< empty where new data have no response
  Vector weights;                  ///< empty where there are none
  std::vector<Index> rows;         ///< the table's row that each row of the design comes from
  std::vector<std::string> notes;  ///< sentences for the user: what was coded, dropped, and why

  Index size() const { return static_cast<Index>(rows.size()); }
};

struct LearntDesign {
  DesignSpec spec;
  Design design;
};

/// Learns the coding from the table of a fit and applies it. Text columns become indicators against their
/// most frequent level (the first in sorted order of equally frequent ones), other levels sorted; bins
/// likewise (the lowest of equally frequent ones), in increasing order of their counts, lower bins first.
/// Constant columns, and columns of the design that equal an earlier one, are dropped and named in the notes.
/// Throws UsageError or DataError.
LearntDesign learn_design(const Table& table, const DesignOptions& options);

/// The design of new data, coded as `spec` says. Columns that it does not name are ignored. The response and
/// weights are read where they are there. Throws DataError for a missing column, a level that was never seen,
/// a missing value.
Design apply(const DesignSpec& spec, const Table& table, MissingPolicy missing = MissingPolicy::refuse);

/// Some rows without missing cells, coded as `spec` says, with response and weights where they are not null.
Design code_rows(const DesignSpec& spec, const Table& table, std::vector<Index> rows, const Column* response,
                 const Column* weights);

}  // namespace magva::input
