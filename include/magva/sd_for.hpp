#pragma once
// Sds by linear response where a fit has left those of all parameters alone because they would take too long:
// of single ones, and estimates of the others.
#include <optional>
#include <string>
#include <vector>

#include "magva/fit.hpp"

namespace magva {

/// Sds by linear response, estimated one by one.
struct SdEstimates {
  Vector sd;
  Vector se;        ///< of log sd
  Index draws = 0;  ///< that they are from
};

/// Which sds are by linear response.
struct SdCorrection {
  bool all = false;                     ///< of every parameter: the fit had them already
  std::vector<std::string> parameters;  ///< else of these; the others have what follows from them
  std::vector<std::string> failed;      ///< of those asked for: these have none, or time was up
  /// Standard error of the logarithm of an sd, the largest; 0 where no draws were used.
  double se = 0;
  /// Of all parameters, of which those above need none. Draws and predictions are the posterior's and know
  /// nothing of them. Only of low-rank fits, and if the log density is concave.
  std::optional<SdEstimates> estimates = {};
};

/// UsageError for a name that the model does not have. An entry may be several names, separated by commas.
void check_sd_names(const Model& model, const std::vector<std::string>& names);

/// Gives the posterior of a converged fit of this model, with these options, a correction of the named
/// parameters: their joint distribution, and how all others depend on them, are by linear response; given
/// them, the others vary as fitted. By exact expectations where the fit was; else, with the covariance held
/// fixed, by draws. The others are estimated, with at most as many passes over the data, or gradients, as the
/// fit has taken.
SdCorrection correct_sds(const Model& model, FitResult& result, const std::vector<std::string>& names,
                         const FitOptions& options = {}, const std::vector<Observer>& observers = {});

}  // namespace magva
