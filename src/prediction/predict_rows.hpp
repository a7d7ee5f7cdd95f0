#pragma once
// What a fit says about new rows.
#include <cstdint>
#include <vector>

#include "magva/posterior.hpp"
#include "prediction/new_rows.hpp"
#include "source/recipe.hpp"

namespace magva::prediction {

struct RowPredictions {
  Vector mean;  ///< of the posterior predictive distribution: for two classes, the probability of 1
  Vector q05, q25, q75, q95;  ///< of the probability for two classes, of the response otherwise
  Vector log_score;           ///< log p(y | data); empty where the rows have no response
};

/// By `draws` draws from the posterior, some rows at a time.
RowPredictions predict_rows(const source::Recipe& recipe, const NewRows& rows, const Gaussian& posterior,
                            Index draws, std::uint64_t seed);

}  // namespace magva::prediction
