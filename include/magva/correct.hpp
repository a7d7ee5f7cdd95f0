#pragma once
// Draws that importance weights have brought nearer to the posterior.
#include <cstdint>

#include "magva/model.hpp"
#include "magva/posterior.hpp"

namespace magva {

/// `count` draws out of ten times as many, each as often as its Pareto smoothed importance weight says (by
/// systematic resampling): a draw with much weight comes more than once. For means, sds, quantiles and
/// predictions; importance_resample() gives draws that are all different. Throws DataError, which says why,
/// where the weights allow no correction: k-hat is above .7.
Matrix importance_corrected_draws(const Model& model, const Posterior& q, Index count, std::uint64_t seed,
                                  int threads = 0);

}  // namespace magva
