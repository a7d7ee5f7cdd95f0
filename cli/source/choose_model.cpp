#include "source/choose_model.hpp"

#include <fmt/format.h>

namespace magva::source {

ModelChoice choose_model(const input::Column& response, const input::ResponseSummary& values) {
  if (response.kind == input::ColumnKind::text)
    return {"logistic", fmt::format("'{}' holds text: logistic regression was chosen", response.name)};
  if (values.distinct().size() <= 2)
    return {"logistic", fmt::format("'{}' has two classes: logistic regression was chosen", response.name)};
  if (values.counts() && values.smallest() == 0)
    return {"poisson",
            fmt::format("'{}' holds counts: Poisson regression was chosen (--model linear for the other)",
                        response.name)};
  return {"linear", fmt::format("'{}' holds numbers: linear regression was chosen", response.name)};
}

}  // namespace magva::source
