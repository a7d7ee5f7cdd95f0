#pragma once
#include <string>
#include <vector>

#include "table/design_spec.hpp"
#include "table/duplicate_columns.hpp"

namespace magva::input {

/// Takes columns of the design that equal an earlier one out of its specification.
void drop_duplicates(DesignSpec& spec, const std::vector<Duplicate>& duplicates);

/// Says which columns were dropped and why.
void note_dropped(const DesignSpec& spec, std::vector<std::string>& notes);

}  // namespace magva::input
