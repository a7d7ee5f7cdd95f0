#pragma once
// What importance weights make of a fit's summaries: a Gaussian on the unconstrained scale may miss a tail
// that the user's scale stretches, while k-hat and ELBO look well.
#include <optional>
#include <string>
#include <vector>

#include "magva/types.hpp"

namespace magva::results {

/// A quantity whose mean or sd the weights put elsewhere.
struct Reweighted {
  std::string name;
  double mean, sd;
  double weighted_mean, weighted_sd;
  /// The larger of |log ratio of the sds| and the shift of the mean in sds.
  double difference() const;
};

/// The quantity with the largest difference. `values`: a row a quantity, a column a draw; `weights` sum to 1.
/// Nothing where a weight or every value is not finite.
std::optional<Reweighted> most_reweighted(const std::vector<std::string>& names, const Matrix& values,
                                          ConstVectorRef weights);

/// Above this, an sd that is a third off, a fit's summaries are not to be trusted.
inline constexpr double kMostReweighted = .3;

}  // namespace magva::results
