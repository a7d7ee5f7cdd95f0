#pragma once
// Our side of each task, as JSON: times in seconds, rates in bytes or operations a second.
#include <nlohmann/json.hpp>

#include "magva/algorithm1.hpp"
#include "problems.hpp"

namespace magva::bench {

/// Peak memory of a few AdaDelta steps at m = 1,000,000, p = 10, in a process of its own.
nlohmann::json peak_memory();

/// Times of a step, with one thread or `threads`, whichever is faster, and of its parts. Throws
/// std::runtime_error where ours and the plain form disagree. The peers' files go to `folder`.
nlohmann::json step_times(const TaskProblem& problem, int threads, const std::filesystem::path& folder);
/// A step over the model's gradient for every rule on Stiefel, VAFC and mean-field.
nlohmann::json step_over_gradient(const TaskProblem& problem);
/// The design's bytes a second in a step, beside those of a plain loop that reads the design: medians, the
/// share's over pairs of one reading and one step.
nlohmann::json streaming(Index rows, Index cols, Index rank, int threads);

/// Step times on a cheap target for m = 1,000 to 1,024,000.
nlohmann::json doublings(RuleKind rule, int threads);
/// Step times with one and two threads.
nlohmann::json threads_scaling(Index rows, Index cols, Index draws);

/// The default with growing budgets of gradients: seconds and the exact ELBO of each, and the best known.
nlohmann::json default_elbo_over_time(const TaskProblem& problem, const std::filesystem::path& folder);

/// Whole fits by the default to 'converged': with draws, of a model that tells no more than its density and
/// of one that tells its curvature, and without draws.
nlohmann::json exact_over_draws(const TaskProblem& problem);
/// A full-rank fit without draws; data and mean go to `folder` for the peers.
nlohmann::json exact_full_rank(const TaskProblem& problem, const std::filesystem::path& folder);

}  // namespace magva::bench
