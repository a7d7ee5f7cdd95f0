#pragma once
// Hierarchical posteriors as mixtures of Gaussians over their hyper-parameters: found before a Gaussian is
// fitted, or tried after it.
#include <optional>

#include "core/evaluator.hpp"
#include "fit/mixture_verdict.hpp"
#include "search/mean_field.hpp"
#include "sparse/hessian_pattern.hpp"

namespace magva {

/// Whether a mixture may be what a fit with these options returns. A rank that was asked for is asked for
/// with what it cannot show, and a limit with what it leaves undone.
bool may_return_mixture(const Model& model, const FitOptions& options);

/// What a search for mass finds of a hierarchical posterior.
struct MixtureFound {
  Gaussian around;                                 ///< at the mode of the hyper-parameters' marginal density
  std::shared_ptr<const GaussianMixture> mixture;  ///< null where there is none
  std::optional<AssessedMixture> assessed;
  std::vector<Index> hyper_parameters;
  std::shared_ptr<HyperWeights> weights = nullptr;  ///< of these alone, if the others are independent
};

/// How many Gaussians over which parameters.
std::string describe(const MixtureFound& found, const Model& model);
/// What their weights say.
std::string describe_weights(const AssessedMixture& assessed);

/// From a mean-field Gaussian. Nothing where no parameter spoils a joint Gaussian, or where the others cannot
/// be followed. `pattern`, if it is null and there are hyper-parameters, is looked for; it stays null where
/// the Hessian is dense.
std::optional<MixtureFound> find_mixture(Evaluator& evaluator, const MeanField& from,
                                         std::shared_ptr<const HessianPattern>& pattern,
                                         const FitOptions& options);

/// The mode of the marginal density of these hyper-parameters that is reached from there.
std::optional<Gaussian> hyper_mode_from(Evaluator& evaluator, const MeanField& from,
                                        const std::shared_ptr<const HessianPattern>& pattern,
                                        const std::vector<Index>& hyper_parameters,
                                        const FitOptions& options);

/// Puts a mixture into a result if it is better: its ELBO is not lower, it is not more in doubt, and for a
/// fit that has not converged its importance weights confirm it. First `early`, if it has one: what was found
/// before the Gaussian was fitted, and left a doubt; then, where the Gaussian is in doubt for its shape, or
/// has no sds by linear response, or has not converged, and a few hyper-parameters explain that, one around
/// it. `pattern`: of the Hessian; null where it is dense or not known.
void try_mixture(Evaluator& evaluator, const std::shared_ptr<const HessianPattern>& pattern,
                 const MixtureFound* early, const FitOptions& options, FitResult& result);

}  // namespace magva
