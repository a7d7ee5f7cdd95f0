#pragma once
// Summaries over folds and repetitions, and of the curves of runs.
#include <limits>
#include <string>
#include <vector>

#include "experiments/engine_run.hpp"
#include "experiments/journal.hpp"
#include "report/figure.hpp"

namespace magva::experiments {

struct MeanSd {
  double mean, sd;
  std::size_t count;
  double standard_error() const;
};
/// Of the finite values; NaN if there are none, an sd of 0 if there is one.
MeanSd mean_sd(const std::vector<double>& values);
/// Of the values, NaN counting as larger than all others.
double median(std::vector<double> values);

/// The least and the greatest of some finite values.
struct Extent {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(double value);
};

/// A run diverges if its bound is not finite, or ends this many nats or more below mean-field's mean.
constexpr double kDivergenceGap = 1000;

/// Where repetitions ended. Those that diverged do not count in the mean.
struct Ends {
  MeanSd kept;
  std::size_t diverged;
};
Ends ends(const std::vector<double>& values, double reference);
/// "-107.9", or "-107.9 (1 of 3 diverge)".
std::string describe(const Ends& ends);

/// A number in a journal: null stands for what was not finite.
double number(const Json& value);
std::vector<double> numbers(const Json& values);
/// Field `field` of several results.
std::vector<double> numbers(const std::vector<const Json*>& results, const char* field);

/// The mean curve over repetitions and the band of one standard deviation around it.
struct CurveBand {
  std::vector<double> iteration, mean, low, high;
};
CurveBand band(const std::vector<std::vector<double>>& curves, std::int64_t window);
/// Its part up to an iteration.
CurveBand until(CurveBand curve, std::int64_t iteration);

/// A range of y, shared by panels, that shows the curves after the first part of the run.
report::Range shared_range(const std::vector<CurveBand>& curves, double first_part = .2);

/// Nats from its end within which a curve counts as converged.
constexpr double kConvergedWithin = 3;
/// The mean of the last tenth of a curve.
double end_of(const std::vector<double>& curve);
/// The first iteration at which the curve, averaged over 100 iterations, is at or above a level; NaN if
/// never.
double iterations_to(const std::vector<double>& curve, std::int64_t window, double level);
/// Medians over the curves of repetitions: iterations to within kConvergedWithin of its own end, and of the
/// mean end of reference curves; NaN if most never get there.
double iterations_to_own_end(const std::vector<std::vector<double>>& curves, std::int64_t window);
double iterations_to_end_of(const std::vector<std::vector<double>>& reference,
                            const std::vector<std::vector<double>>& curves, std::int64_t window);
/// How much a curve moves from one window to the next in its last fifth: the sd of the differences over
/// sqrt(2), which a trend does not enlarge.
double oscillation(const std::vector<double>& curve);
double mean_oscillation(const std::vector<std::vector<double>>& curves);
/// "850", or "never" for NaN.
std::string iterations_or_never(double iterations);

}  // namespace magva::experiments
