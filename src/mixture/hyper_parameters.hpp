#pragma once
// The few parameters that spoil a joint Gaussian: those that decide how wide many others are, such as the
// logarithms of group sds.
//
// In coordinates in which the fitted Gaussian is N(0, I), let T_k be the third derivatives of the log density
// with coordinate k. Linear response takes |T_k|^2 / 2 off the precision of k, as far as first order goes:
// that is what the sd of k is too small by. For a draw d, the second difference of gradients,
// g(mu + d) + g(mu - d) - 2 g(mu) = T[d, d], has the variance 2 |T_k|^2, so that a few draws show all k.
#include <cstdint>
#include <vector>

#include "core/evaluator.hpp"

namespace magva {

/// Share of its precision that a hyper-parameter loses, at least: 5 % of an sd.
inline constexpr double kLeastHyperLoss = .1;

/// At most so many: a design in more dimensions takes too many points.
inline constexpr std::size_t kMostHyperParameters = 6;

/// The worst first; each is looked for given those before it, so that what they explain does not count again.
/// Empty where a Gaussian is near enough. What some of a group of parameters explain others of it explain as
/// well: `known` ones that lose enough come before all others.
std::vector<Index> find_hyper_parameters(Evaluator& evaluator, const Gaussian& q, std::uint64_t seed,
                                         double least_loss = kLeastHyperLoss,
                                         const std::vector<Index>& known = {});

}  // namespace magva
