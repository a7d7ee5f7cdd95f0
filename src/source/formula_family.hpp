#pragma once
// The family of a formula's response: which one, and what it asks of the values.
#include <string>
#include <vector>

#include "magva/formula_model.hpp"

namespace magva::source {

/// The one that the options name, or that suits the response, which is then said in a note. Throws UsageError
/// if the response has another form than the family's.
Distribution chosen_family(const FormulaOptions& options, const formula::TypeChoice& choice,
                           std::vector<std::string>& notes);

/// How a response of this family is read from its column.
formula::ResponseType type_for(Distribution family);

/// Whether the linear predictor has the response's own unit.
bool has_unit(Distribution family);

/// Throws DataError where the values leave nothing to explain or the family does not allow them.
void check_response(const FormulaModel& model, const formula::EncodedFormula& rows);

}  // namespace magva::source
