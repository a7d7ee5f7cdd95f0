#pragma once
// Summaries over folds and repetitions.
#include <string>
#include <vector>

#include "experiments/engine_run.hpp"
#include "experiments/journal.hpp"
#include "report/figure.hpp"

namespace magva::experiments {

struct MeanSd {
  double mean, sd;
  std::size_t count;
};
/// Of the finite values; NaN where there are none, an sd of 0 where there is one.
MeanSd mean_sd(const std::vector<double>& values);

/// Where repetitions ended. One that is not finite, or a thousand nats and more below the reference, is lost
/// and does not count in the mean.
struct Ends {
  MeanSd kept;
  std::size_t lost;
};
Ends ends(const std::vector<double>& values, double reference);

/// A number in a journal: null stands for what was not finite.
double number(const Json& value);
std::vector<double> numbers(const Json& values);

/// The mean curve over repetitions and the band of one standard deviation around it.
struct CurveBand {
  std::vector<double> iteration, mean, low, high;
};
CurveBand band(const std::vector<std::vector<double>>& curves, std::int64_t window);

/// A range of y, shared by panels, that shows the curves after the first part of the run.
report::Range shared_range(const std::vector<CurveBand>& curves, double first_part = .2);

}  // namespace magva::experiments
