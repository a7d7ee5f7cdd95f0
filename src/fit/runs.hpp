#pragma once
// The ways of fitting behind fit(). Options have been checked.
#include "assess/assess.hpp"
#include "magva/fit.hpp"
#include "magva/minibatch.hpp"

namespace magva {

/// Without settings: search, curvature, refinement, short chains.
FitResult run_default(const Model& model, const FitOptions& options, const std::vector<Observer>& observers);

/// The paper's Algorithm 1, on minibatches too; `full` is the model on all rows, by which it is assessed.
FitResult run_algorithm1(const Model& model, const Model& full, const FitOptions& options,
                         const std::vector<Observer>& observers);

/// On data that are too large to be read for every gradient: a fit to a sample of the rows, a few passes over
/// all of them that correct its mean, then Algorithm 1 on minibatches anchored there. Never claims to have
/// converged: noise in the rows hides what is left to gain, so that it stops at the iteration limit, and one
/// more pass over all rows says how much that would be.
FitResult run_minibatch(const Minibatch& model, const FitOptions& options,
                        const std::vector<Observer>& observers);

/// Means and sds that short chains of Hamiltonian Monte Carlo move elsewhere become theirs, and what they
/// leave of doubts is the verdict.
void correct_by_chains(const Model& model, const FitOptions& options, const std::vector<Observer>& observers,
                       FitResult& result);

/// The same for a result of m >= 40 parameters that may not be the last one: whether chains leave nothing of
/// it in doubt. Else it is of no use.
bool settle_by_chains(Evaluator& evaluator, const FitOptions& options, FitResult& result);

/// Fits the shapes that the options, or doubts about the Gaussian, ask for; the best one becomes the
/// result's. Whether it is another one now.
bool try_shapes(const Model& model, const FitOptions& options, const std::vector<Observer>& observers,
                FitResult& result);

/// Warns of quantities whose variance comes from where the result has none. After all choices between
/// results: such a tail is as far from all of them.
void warn_of_long_tails(const Model& model, const FitOptions& options, const std::vector<Observer>& observers,
                        FitResult& result);

/// What 'converged' promises: within this many nats of the family's best.
double promised_nats(Index dimension);

/// A result with what the assessment has found; the rest is the caller's.
FitResult assessed(Gaussian posterior, Assessment assessment);

}  // namespace magva
