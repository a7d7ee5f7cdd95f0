#include "source/choose_model.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

namespace magva::source {

ModelChoice choose_model(const input::Column& response) {
  if (response.kind == input::ColumnKind::text)
    return {"logistic", fmt::format("'{}' holds text: logistic regression was chosen", response.name)};
  std::set<double> distinct;
  bool counts = true;
  for (const double value : response.values.span()) {
    if (std::isnan(value)) continue;
    counts = counts && value >= 0 && value == std::floor(value);
    if (distinct.size() < 3) distinct.insert(value);
  }
  if (distinct.size() <= 2)
    return {"logistic", fmt::format("'{}' has two classes: logistic regression was chosen", response.name)};
  const bool zero =
      distinct.contains(0) || (counts && response.values.vector().minCoeff<Eigen::PropagateNumbers>() == 0);
  if (counts && zero)
    return {"poisson",
            fmt::format("'{}' holds counts: Poisson regression was chosen (--model linear for the other)",
                        response.name)};
  return {"linear", fmt::format("'{}' holds numbers: linear regression was chosen", response.name)};
}

}  // namespace magva::source
