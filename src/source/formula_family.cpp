#include "source/formula_family.hpp"

#include <fmt/format.h>

#include "magva/error.hpp"
#include "table/message.hpp"

namespace magva::source {

namespace {

using formula::ResponseForm;
using formula::ResponseType;

/// The family that suits a response if nobody says.
Distribution family_for(const formula::TypeChoice& choice) {
  if (choice.form == ResponseForm::survival) return Distribution::weibull;
  if (choice.form != ResponseForm::values) return Distribution::binomial;
  switch (choice.type) {
    case ResponseType::two_classes:
      return Distribution::bernoulli;
    case ResponseType::classes:
      return Distribution::categorical;
    case ResponseType::count:
      return Distribution::poisson;
    case ResponseType::number:
      break;
  }
  return Distribution::gaussian;
}

void check_form(Distribution family, const formula::TypeChoice& choice) {
  const bool counts = choice.form == ResponseForm::successes || choice.form == ResponseForm::counts;
  if (counts && family != Distribution::binomial)
    throw UsageError(
        fmt::format("{}, which needs the family binomial, not {}", choice.reason, to_string(family)));
  if (choice.form == ResponseForm::survival && !allows_censoring(family))
    throw UsageError(fmt::format("{}, which needs the family weibull or exponential, not {}", choice.reason,
                                 to_string(family)));
}

}  // namespace

ResponseType type_for(Distribution family) {
  switch (family) {
    case Distribution::bernoulli:
      return ResponseType::two_classes;
    case Distribution::ordered:
    case Distribution::categorical:
      return ResponseType::classes;
    case Distribution::binomial:
    case Distribution::poisson:
    case Distribution::negative_binomial:
      return ResponseType::count;
    default:
      return ResponseType::number;
  }
}

Distribution chosen_family(const FormulaOptions& options, const formula::TypeChoice& choice,
                           std::vector<std::string>& notes) {
  const Distribution family = options.family.value_or(family_for(choice));
  if (!options.family)
    notes.push_back(fmt::format("{}: the family {} was chosen", choice.reason, to_string(family)));
  check_form(family, choice);
  if (family != Distribution::binomial || choice.form != ResponseForm::values) return family;
  if (choice.type == ResponseType::count || choice.type == ResponseType::number)
    throw UsageError(
        fmt::format("{}, of which the family binomial must know the trials: write successes | trials(n) or "
                    "cbind(successes, failures)",
                    choice.reason));
  return Distribution::bernoulli;  // without trials a response is one of two classes
}

bool has_unit(Distribution family) {
  return family == Distribution::gaussian || family == Distribution::student_t;
}

void check_response(const FormulaModel& model, const formula::EncodedFormula& rows) {
  const std::string& name = model.design.response.name;
  const Vector& y = rows.response;
  if (model.family == Distribution::poisson || model.family == Distribution::negative_binomial)
    if (y.maxCoeff() == 0)
      throw DataError(fmt::format("every count of {} is 0: there is nothing to explain", name));
  if (model.family == Distribution::binomial && (y.maxCoeff() == 0 || (rows.trials - y).maxCoeff() == 0))
    throw DataError(fmt::format("{} has only {}: there is nothing to explain", name,
                                y.maxCoeff() == 0 ? "failures" : "successes"));
  if (model.family == Distribution::gamma && y.minCoeff() <= 0)
    throw DataError(fmt::format("{} has the value {}, but a gamma response is positive", name,
                                table::number_text(y.minCoeff())));
  if (has_unit(model.family) && y.minCoeff() == y.maxCoeff())
    throw DataError(
        fmt::format("{} is {} in every row: there is nothing to explain", name, table::number_text(y(0))));
}

}  // namespace magva::source
