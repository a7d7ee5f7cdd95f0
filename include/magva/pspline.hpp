#pragma once
// Robust P-spline regression, the paper's first experiment: y = g(x) + noise with g a penalised B-spline and
// noise that has outliers.
#include <optional>
#include <string>
#include <vector>

#include "magva/regression.hpp"
#include "models/bspline.hpp"

namespace magva {

struct PsplineOptions {
  Index functions = 25;
  Index degree = 3;
  std::optional<double> lower = std::nullopt;  ///< range of the knots; unset: the covariate's own
  std::optional<double> upper = std::nullopt;
  AutoregressivePriorOptions prior;
  OutlierMixtureOptions noise;
  std::vector<std::string> problems() const;
};

/// The model, and the basis from which its curve is drawn: g(x) = basis(x) times the first coefficients of
/// theta. Coordinates: beta, log tau^2, logit(psi / .99), log sigma^2.
struct Pspline {
  BSplineBasis basis;
  Regression model;
};

/// `weights` may be empty. Throws UsageError or DataError where options or data cannot be used.
Pspline pspline_regression(ConstVectorRef covariate, ConstVectorRef response,
                           ConstVectorRef weights = Vector(), const PsplineOptions& options = {});

}  // namespace magva
