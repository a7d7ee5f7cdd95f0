#pragma once
// Regressions whose response has one of the families of response_family.hpp.
#include <memory>

#include "magva/regression.hpp"
#include "magva/response_family.hpp"

namespace magva {

/// The family as a regression's likelihood. Its expectations are known without draws for all families but
/// student_t, which has two parameters of its own, and weibull, whose expectations do not exist.
std::shared_ptr<const Likelihood> make_likelihood(std::shared_ptr<const ResponseFamily> family);

/// The family behind a likelihood from make_likelihood, null for others.
std::shared_ptr<const ResponseFamily> response_family(const Likelihood& likelihood);

/// y ~ family(X beta + offset), with the default priors of the family's own parameters.
Regression family_regression(RegressionData data, Distribution family, Link link,
                             std::shared_ptr<const CoefficientPrior> prior);

}  // namespace magva
