#pragma once
// What a predictor column becomes in the design, learnt from the rows of a fit.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "table/column_summary.hpp"
#include "table/design.hpp"
#include "table/design_spec.hpp"
#include "table/table.hpp"

namespace magva::input {

struct TermLearner {
  const std::string& source;
  const DesignOptions& options;
  Index rows;  ///< that are used
  /// For discretisation: the rows of the whole table that are used, and the class, 0 or 1, of each.
  const std::vector<Index>& chosen;
  const std::vector<int>& classes;

  /// Adds the term of one column to the specification, or its name to those that were dropped.
  void learn(const Column& column, const ColumnSummary& summary, DesignSpec& spec,
             std::vector<std::string>& notes) const;

 private:
  std::optional<Term> number_term(const Column& column, const ColumnSummary& summary, DesignSpec& spec) const;
  std::optional<Term> bins_term(const Column& column, const ColumnSummary& summary, DesignSpec& spec) const;
  std::optional<Term> levels_term(const Column& column, const ColumnSummary& summary, DesignSpec& spec,
                                  std::vector<std::string>& notes) const;
};

}  // namespace magva::input
