#pragma once
// The default on data that are too large to be read for every gradient: a fit to a sample of the rows, a few
// passes over all of them that correct its mean, then Algorithm 1 on minibatches anchored there.
#include "fit/fit_auto.hpp"
#include "magva/minibatch.hpp"

namespace magva {

struct BatchOptions {
  AutoOptions start;  ///< of the fit to a sample of the rows; `elbo_draws` are for the final judgement
  std::int64_t iterations = 1000;  ///< of Algorithm 1, with Adam and steps that fall to zero
  int passes = 8;                  ///< over all rows before it, at most
  Index draws = 8;                 ///< in a pass, and in an iteration; even

  std::vector<std::string> problems(Index dimension) const;
};

/// Never claims to have converged: noise in the rows hides what is left to gain, so that it stops at the
/// iteration limit, with evidence from one more pass over all rows. ELBO and k-hat come from all rows.
/// `gradient_evaluations` counts one for as many row gradients as there are rows. Throws what fit_auto
/// throws.
AutoResult fit_batch(const Minibatch& model, const BatchOptions& options,
                     const std::vector<AutoObserver>& observers = {});

}  // namespace magva
