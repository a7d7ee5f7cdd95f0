#pragma once
// An importance sample that reaches far beyond the Gaussian's own draws: for few parameters, where a part of
// the posterior may lie on no straight line from the mean.
#include <optional>
#include <vector>

#include "assess/marginals.hpp"

namespace magva {

struct FarSample {
  PosteriorSample sample;
  double khat;
  double effective;  ///< draws that the weights leave
};

/// Of draws a third of which are the Gaussian's own, a third twice as wide and a third of a multivariate
/// Cauchy distribution. Nothing where no draw has a finite log density.
std::optional<FarSample> far_reaching_sample(Evaluator& evaluator, const Gaussian& q, std::uint64_t seed);

/// Of every coordinate.
std::vector<MarginalError> errors_by(const FarSample& far, const Gaussian& q);

/// Adds to the report what such a sample says of coordinates that it finds further off, where it tells; the
/// sample itself takes the place of others, which do not reach as far. Nothing where there are too many
/// parameters for it.
void check_far_out(Evaluator& evaluator, const Gaussian& q, std::uint64_t seed, MarginalReport& report);

}  // namespace magva
