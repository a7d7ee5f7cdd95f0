#pragma once
// What a predictor column becomes in the design, learnt from the rows of a fit.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "input/design.hpp"
#include "input/design_spec.hpp"
#include "input/table.hpp"

namespace magva::input {

struct TermLearner {
  const Table& table;
  const std::vector<Index>& rows;
  const DesignOptions& options;
  const std::vector<int>&
      classes;  ///< 0 or 1 for each of `rows`, for discretisation; empty where there is none

  /// Adds the term of one column to the specification, or its name to those that were dropped.
  void learn(const Column& column, DesignSpec& spec, std::vector<std::string>& notes) const;

 private:
  std::optional<Term> number_term(const Column& column, DesignSpec& spec) const;
  std::optional<Term> bins_term(const Column& column, DesignSpec& spec) const;
  std::optional<Term> levels_term(const Column& column, DesignSpec& spec,
                                  std::vector<std::string>& notes) const;
  std::vector<double> used_values(const Column& column) const;
};

}  // namespace magva::input
