#pragma once
// The problems: ionosphere where its file is present, and synthetic regressions.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "target.hpp"

namespace magva::bench {

struct Problem {
  std::string name;
  std::function<std::unique_ptr<Target>()> make;  ///< not before it is needed: some take long
  std::vector<Index> ranks;                       ///< m is full rank
};

/// Correlated columns whose scales, and so the posterior sds, span `decades` powers of ten; prior variances
/// in units of these.
Glm synthetic(Likelihood likelihood, Index rows, Index cols, double correlation, double decades,
              double signal, std::uint64_t seed, double prior_variance = 10);
/// W W' + diag(d)^2 with sds that span `decades` powers of ten, half of each variance in the factors.
Gaussian factor_gaussian(Index m, Index rank, double decades, std::uint64_t seed);
/// The expanded ionosphere data with an intercept, from a CSV file with the response last.
std::optional<Glm> ionosphere(const std::string& path);
std::vector<Problem> problems(const std::string& ionosphere_path);

}  // namespace magva::bench
